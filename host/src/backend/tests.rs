use super::*;

#[test]
fn choices_are_read_and_shown() {
    for (text, choice) in [
        ("auto", BackendChoice::Auto),
        ("cpu", BackendChoice::Cpu),
        ("cuda", BackendChoice::Cuda(None)),
        ("cuda:0", BackendChoice::Cuda(Some(0))),
        ("cuda:17", BackendChoice::Cuda(Some(17))),
    ] {
        assert_eq!(text.parse(), Ok(choice), "{text}");
        assert_eq!(choice.to_string(), text);
    }
}

#[test]
fn other_names_are_refused() {
    for text in
        ["", "CPU", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:0x1", "cuda:4294967296", "cpu:0", "auto:", " cpu", "cuda:1:2"]
    {
        let error = text.parse::<BackendChoice>().expect_err(text);
        assert_eq!(error, UnknownBackend { found: text.into() });
    }
    let error = "gpu".parse::<BackendChoice>().expect_err("gpu");
    assert_eq!(error.to_string(), r#"unknown backend "gpu", expected auto, cpu, cuda or cuda:N"#);
}

#[test]
fn the_cpu_is_always_there() {
    assert_eq!(Backend::Cpu.to_string(), "cpu");
    assert!(matches!(BackendChoice::Cpu.open(), Ok(Backend::Cpu)));
    assert!(BackendChoice::Auto.open().is_ok());
}

/// A machine has devices or a reason; whichever it is, every way to ask for one agrees.
#[test]
fn devices_and_choices_agree() {
    match devices() {
        Ok(list) => {
            assert!(!list.is_empty());
            let usable = list.iter().find(|device| device.unusable.is_none());
            assert_eq!(Backend::auto().to_string(), usable.map_or("cpu".into(), |device| format!("cuda:{}", device.index)));
            let beyond = list.len() as u32;
            let error = Backend::cuda(beyond).expect_err("no such device");
            assert_eq!(error, crate::Error::NoDevice { index: beyond, devices: beyond });
        }
        Err(reason) => {
            println!("no device here: {reason:?}");
            assert_eq!(Backend::auto().to_string(), "cpu");
            assert!(Backend::cuda(0).is_err());
            assert_eq!(BackendChoice::Cuda(None).open().expect_err("no device"), reason);
        }
    }
}

#[cfg(feature = "cuda")]
mod cuda {
    use super::super::device::Needs;

    const PTX: &str = "//\n// Generated\n//\n\n.version 7.4\n.target sm_80\n.address_size 64\n";

    #[test]
    fn needs_come_from_the_ptx() {
        let needs = Needs::of(PTX);
        assert_eq!(needs, Needs { compute_capability: (8, 0), ptx: (7, 4) });
        assert_eq!(needs.driver(), (11, 4));
        assert_eq!(Needs::of(".version 8.6\n.target sm_100a, debug\n").driver(), (12, 6));
        assert_eq!(Needs::of(".version 8.6\n.target sm_100a, debug\n").compute_capability, (10, 0));
    }

    #[test]
    fn old_devices_and_drivers_are_told_apart() {
        let needs = Needs::of(PTX);
        assert_eq!(needs.unmet((8, 0), (11, 4)), None);
        assert_eq!(needs.unmet((12, 0), (13, 0)), None);
        assert_eq!(needs.unmet((7, 5), (13, 0)).as_deref(), Some("has compute capability 7.5, the kernels need 8.0"));
        assert_eq!(
            needs.unmet((9, 0), (11, 2)).as_deref(),
            Some("its driver supports CUDA 11.2, the kernels need 11.4: install a newer driver")
        );
    }
}
