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
    use super::super::device::{Needs, with_only};
    use super::super::{Backend, BackendChoice, CudaDevice, DeviceBuffer, Event, PinnedBuffer, Stream};
    use crate::Error;
    use shared_types::launch::Launch;

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

    #[test]
    fn a_kernel_is_taken_out_of_the_ptx_with_what_all_share() {
        let ptx = format!(
            "{PTX}.extern .shared .align 16 .b8 s[];\n.visible .entry a(\n\t.param .u64 p\n)\n{{\n{{\nret;\n}}\n}}\n\
             .func helper()\n{{\n\tret;\n}}\n.visible .entry ab() // @a\n.reqntid 32\n{{\n\tld.v2.u32 {{%r1, %r2}}, [p];\n}}\n.global .b8 g;\n"
        );
        let shared = format!("{PTX}.extern .shared .align 16 .b8 s[];\n");
        let helper = ".func helper()\n{\n\tret;\n}\n";
        let only = |name| with_only(&ptx, name);
        let a = ".visible .entry a(\n\t.param .u64 p\n)\n{\n{\nret;\n}\n}\n";
        assert_eq!(only("a"), Some(format!("{shared}{a}{helper}.global .b8 g;\n")));
        let ab = ".visible .entry ab() // @a\n.reqntid 32\n{\n\tld.v2.u32 {%r1, %r2}, [p];\n}\n";
        assert_eq!(only("ab"), Some(format!("{shared}{helper}{ab}.global .b8 g;\n")));
        assert_eq!(only("b"), None);
        assert_eq!(only("helper"), None);

        let entries = |ptx: &str| ptx.lines().filter(|line| line.starts_with(".visible .entry ")).count();
        for line in super::super::device::PTX.lines().filter_map(|line| line.strip_prefix(".visible .entry ")) {
            let name = line.split('(').next().expect("a name");
            let only = with_only(super::super::device::PTX, name).expect("it is there");
            assert_eq!(entries(&only), 1);
        }
    }

    /// The first usable device, or a word that the test is skipped.
    fn device() -> Option<CudaDevice> {
        match BackendChoice::Cuda(None).open() {
            Ok(Backend::Cuda(device)) => Some(device),
            other => {
                println!("SKIPPED: no device ({other:?})");
                None
            }
        }
    }

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
    }

    #[test]
    fn bytes_go_to_a_device_and_come_back() {
        let Some(device) = device() else { return };
        let stream = Stream::new(&device).expect("a stream");
        for len in [0, 1, 15, 16, 255, 256, 4097, 1 << 20] {
            let plain = pattern(len);
            let mut a = DeviceBuffer::new(&device, len).expect("memory");
            let mut b = DeviceBuffer::new(&device, len).expect("memory");
            assert_eq!(a.as_slice().address() % 256, 0);
            stream.copy_to_device(a.as_mut_slice(), &plain).expect("a copy");
            stream.fill(b.as_mut_slice(), 0xA5).expect("a fill");
            let part = len / 3..len - len / 4;
            stream.copy(b.as_mut_slice().slice(part.clone()), a.as_slice().slice(part.clone())).expect("a copy");
            let mut expected = vec![0xA5; len];
            expected[part.clone()].copy_from_slice(&plain[part]);
            let mut back = vec![0; len];
            stream.copy_to_host(&mut back, b.as_slice()).expect("a copy");
            assert!(back == expected, "{len} bytes");
        }
    }

    #[test]
    fn a_buffer_grows_and_keeps_its_place_when_it_shrinks() {
        let Some(device) = device() else { return };
        let mut buffer = DeviceBuffer::new(&device, 1000).expect("memory");
        let address = buffer.as_slice().address();
        buffer.resize(10).expect("no memory needed");
        assert_eq!((buffer.as_slice().address(), buffer.len()), (address, 10));
        buffer.resize(1 << 20).expect("memory");
        assert_eq!(buffer.len(), 1 << 20);
        let too_large = buffer.resize(usize::MAX / 2).expect_err("no device has that much");
        assert!(matches!(too_large, Error::Cuda { call: "cuMemAlloc_v2", .. }), "{too_large:?}");
        assert_eq!(buffer.len(), 1 << 20, "as it was");
    }

    #[test]
    fn pinned_memory_starts_with_zeros_and_copies_beside_other_work() {
        let Some(device) = device() else { return };
        let stream = Stream::new(&device).expect("a stream");
        let (mut from, mut to) =
            (PinnedBuffer::new(&device, 100_000).expect("memory"), PinnedBuffer::new(&device, 100_000).expect("memory"));
        assert!(from.iter().all(|byte| *byte == 0));
        from.copy_from_slice(&pattern(100_000));
        let mut there = DeviceBuffer::new(&device, 100_000).expect("memory");
        // SAFETY: both stay as they are until the stream is waited for.
        unsafe {
            stream.copy_to_device_async(there.as_mut_slice(), &from).expect("a copy");
            stream.copy_to_host_async(&mut to, there.as_slice()).expect("a copy");
        }
        stream.synchronize().expect("no failed work");
        assert!(stream.is_idle().expect("no failed work"));
        assert!(*to == *from);
    }

    #[test]
    fn streams_wait_for_events_and_events_tell_time() {
        let Some(device) = device() else { return };
        let (first, second) = (Stream::new(&device).expect("a stream"), Stream::new(&device).expect("a stream"));
        let (start, end) = (Event::new(&device).expect("an event"), Event::new(&device).expect("an event"));
        let mut bytes = DeviceBuffer::new(&device, 64 << 20).expect("memory");
        first.record(&start).expect("recorded");
        for value in 0..20 {
            first.fill(bytes.as_mut_slice(), value).expect("a fill");
        }
        first.record(&end).expect("recorded");
        second.wait(&end).expect("ordered");
        let mut back = vec![0; 64 << 20];
        second.copy_to_host(&mut back, bytes.as_slice()).expect("a copy");
        assert!(back.iter().all(|byte| *byte == 19));
        assert!(end.milliseconds_since(&start).expect("both reached") > 0.0);
    }

    #[test]
    fn a_graph_repeats_what_was_captured() {
        let Some(device) = device() else { return };
        let stream = Stream::new(&device).expect("a stream");
        let (mut a, mut b) =
            (DeviceBuffer::new(&device, 5000).expect("memory"), DeviceBuffer::new(&device, 5000).expect("memory"));
        stream.fill(b.as_mut_slice(), 1).expect("a fill");
        let graph = stream
            .capture(|| {
                stream.fill(a.as_mut_slice(), 9)?;
                stream.copy(b.as_mut_slice(), a.as_slice())
            })
            .expect("a graph");
        let mut back = vec![0; 5000];
        stream.copy_to_host(&mut back, b.as_slice()).expect("a copy");
        assert!(back.iter().all(|byte| *byte == 1), "capturing does nothing yet");
        for _ in 0..3 {
            stream.fill(b.as_mut_slice(), 2).expect("a fill");
            // SAFETY: both buffers are alive, and nothing else uses them.
            unsafe { graph.launch(&stream).expect("launched") };
            stream.copy_to_host(&mut back, b.as_slice()).expect("a copy");
            assert!(back.iter().all(|byte| *byte == 9));
        }
        // A capture that fails leaves the stream usable.
        let failed = Error::BufferTooSmall { buffer: "plain", need: 2, have: 1 };
        assert_eq!(stream.capture(|| Err(failed.clone())).expect_err("what the closure said"), failed);
        assert!(stream.capture(|| stream.synchronize()).is_err(), "waiting can't be recorded");
        stream.fill(b.as_mut_slice(), 3).expect("a fill");
        stream.synchronize().expect("no failed work");
    }

    #[test]
    fn handles_of_a_device_share_it_and_leave_the_thread_as_it_was() {
        let Some(device) = device() else { return };
        let again = CudaDevice::open(device.index()).expect("open already");
        assert_eq!(device, again);
        let (free, total) = device.memory_bytes().expect("an answer");
        assert!(0 < free && free <= total);
        // Another library's stream: here the default one, null.
        // SAFETY: the default stream always exists.
        let foreign = unsafe { Stream::from_raw(&device, std::ptr::null_mut()) };
        assert!(foreign.as_raw().is_null());
        std::thread::scope(|scope| {
            for value in 0..8 {
                let device = device.clone();
                scope.spawn(move || {
                    let stream = Stream::new(&device).expect("a stream");
                    let mut bytes = DeviceBuffer::new(&device, 3000).expect("memory");
                    stream.fill(bytes.as_mut_slice(), value).expect("a fill");
                    let mut back = vec![0xFF; 3000];
                    stream.copy_to_host(&mut back, bytes.as_slice()).expect("a copy");
                    assert!(back.iter().all(|byte| *byte == value));
                });
            }
        });
        let before = current_context();
        let guard = device.bind().expect("current");
        assert!(!current_context().is_null());
        drop(guard);
        assert_eq!(current_context(), before);
    }

    /// What is current in this thread.
    fn current_context() -> cust::sys::CUcontext {
        let mut context = std::ptr::null_mut();
        // SAFETY: `context` is a place for one handle.
        unsafe { super::super::calls::cuCtxGetCurrent(&mut context).expect("an answer") };
        context
    }

    #[test]
    fn kernels_are_found_by_name_and_refused_by_need() {
        let Some(device) = device() else { return };
        let launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 0 };
        let error = device.kernel("no_such_kernel", launch).expect_err("no such kernel");
        let expected = Error::Cuda { call: "kernel", message: "kernel no_such_kernel: not in the embedded PTX".into() };
        assert_eq!(error, expected);
        for line in super::super::device::PTX.lines().filter_map(|line| line.strip_prefix(".visible .entry ")) {
            let name: &'static str = line.split('(').next().expect("a name");
            let kernel = device.kernel(name, launch).expect("every kernel loads");
            assert_eq!(kernel.name(), name);
            let greedy = device.kernel(name, Launch { shared_bytes: 64 << 20, ..launch }).expect_err("no block has 64 MiB");
            assert!(matches!(greedy, Error::Cuda { call: "cuFuncSetAttribute", .. }), "{greedy:?}");
        }
    }
}
