//! The `warpack` command, driven as a user does.

use serde_json::Value;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// A directory that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("warpack-cli-{}-{test}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The names of what is there, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the command here, on the CPU unless `arguments` say otherwise, with nothing to read.
    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpack"));
        command.current_dir(&self.0).args(arguments);
        let works = ["compress", "decompress", "verify", "bench"].contains(arguments.first().unwrap_or(&""));
        if works && !arguments.contains(&"--backend") {
            command.args(["--backend", "cpu"]);
        }
        command
    }

    /// Runs the command with `input` on its standard input.
    fn pipe(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = self.start(arguments);
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // The command may stop reading early.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        output
    }

    fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The output of a command that had to succeed without a word of complaint.
#[track_caller]
fn done(output: Output) -> Vec<u8> {
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    output.stdout
}

/// The complaint of a command that had to end with `code`.
#[track_caller]
fn failed(output: Output, code: i32) -> String {
    let message = text(&output.stderr).to_owned();
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert!(!message.is_empty());
    message
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Words that shrink.
fn words(count: usize) -> Vec<u8> {
    (0..count as u32).flat_map(|i| ((i.wrapping_mul(2_654_435_761) >> 24) as u16).to_le_bytes()).collect()
}

#[test]
fn files_come_back_with_their_attributes_and_are_kept() {
    let folder = Folder::new("files");
    let plain = words(50_000);
    let path = folder.write("a.raw", &plain);
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let then = SystemTime::UNIX_EPOCH + Duration::new(1_234_567_890, 123_000_000);
    File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    done(folder.run(&["compress", "a.raw"]));
    assert_eq!(folder.names(), ["a.raw", "a.raw.wpk"], "the input stays");
    fs::remove_file(&path).unwrap();
    done(folder.run(&["decompress", "a.raw.wpk"]));
    assert_eq!(folder.names(), ["a.raw", "a.raw.wpk"]);
    assert!(folder.read("a.raw") == plain);
    for name in ["a.raw.wpk", "a.raw"] {
        let metadata = fs::metadata(folder.path(name)).unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o640, "{name}");
        assert_eq!(metadata.modified().unwrap(), then, "{name}");
    }
    done(folder.run(&["verify", "--quiet", "a.raw.wpk"]));
}

#[test]
fn rm_removes_what_is_safe_and_nothing_else() {
    let folder = Folder::new("rm");
    folder.write("a", &words(100));
    done(folder.run(&["compress", "--rm", "a"]));
    assert_eq!(folder.names(), ["a.wpk"]);
    done(folder.run(&["decompress", "--rm", "a.wpk"]));
    assert_eq!(folder.names(), ["a"]);
    folder.write("a.wpk", b"in the way");
    failed(folder.run(&["compress", "--rm", "a"]), 2);
    // To a pipe: nobody knows whether it arrived.
    assert!(!done(folder.run(&["compress", "--rm", "-c", "a"])).is_empty());
    symlink("a", folder.path("link")).unwrap();
    failed(folder.run(&["compress", "--rm", "link"]), 2);
    failed(folder.pipe(&["compress", "--rm", "-"], b"x"), 2);
    failed(folder.run(&["compress", "--rm", "--keep", "a"]), 2);
    assert_eq!(folder.names(), ["a", "a.wpk", "link"]);
    assert_eq!(folder.read("a"), words(100));
    assert_eq!(folder.read("a.wpk"), b"in the way");
}

#[test]
fn pipes_work_in_both_directions() {
    let folder = Folder::new("pipes");
    for plain in [vec![], vec![7], words(300_000)] {
        let archive = done(folder.pipe(&["compress", "--block-size", "100K"], &plain));
        assert!(done(folder.pipe(&["decompress"], &archive)) == plain);
        assert!(done(folder.pipe(&["decompress", "-", "-o", "-"], &archive)) == plain);
        assert!(text(&done(folder.pipe(&["verify", "-"], &archive))).contains("sound"));
        assert!(text(&done(folder.pipe(&["info"], &archive))).contains(&format!("{} bytes", plain.len())));
        let path = folder.write("plain", &plain);
        assert!(done(folder.run(&["compress", "-c", "--block-size", "100K", "plain"])) == archive, "same bytes as from a file");
        fs::remove_file(path).unwrap();
    }
    done(folder.pipe(&["compress", "-o", "out.wpk"], b"abc"));
    done(folder.run(&["decompress", "out.wpk"]));
    assert_eq!(folder.read("out"), b"abc");
    // Files made of pipes have the permissions of any new file, not those of the temporary one.
    let plain_file = folder.write("plain", b"");
    assert_eq!(fs::metadata(plain_file).unwrap().mode(), fs::metadata(folder.path("out.wpk")).unwrap().mode());
}

#[test]
fn outputs_that_exist_are_not_replaced_without_force() {
    let folder = Folder::new("exists");
    folder.write("a", &words(100));
    folder.write("a.wpk", b"precious");
    let message = failed(folder.run(&["compress", "a"]), 2);
    assert!(message.contains("a.wpk: exists already"), "{message}");
    assert_eq!(folder.read("a.wpk"), b"precious");
    done(folder.run(&["compress", "-f", "a"]));
    folder.write("a", b"precious");
    failed(folder.run(&["decompress", "a.wpk"]), 2);
    assert_eq!(folder.read("a"), b"precious");
    done(folder.run(&["decompress", "--force", "a.wpk"]));
    assert_eq!(folder.read("a"), words(100));
    fs::create_dir(folder.path("dir")).unwrap();
    for force in [&["compress", "a", "-o", "dir"][..], &["compress", "-f", "a", "-o", "dir"]] {
        assert!(failed(folder.run(force), 2).contains("is a directory"));
    }
    assert_eq!(folder.names(), ["a", "a.wpk", "dir"]);
}

/// The name is taken while the work goes on: the other file wins.
#[test]
fn outputs_that_appear_meanwhile_are_not_replaced() {
    let folder = Folder::new("race");
    let mut child = folder.start(&["compress", "-", "-o", "out"]);
    child.stdin.as_mut().unwrap().write_all(&words(1000)).unwrap();
    wait_for(|| !folder.names().is_empty());
    folder.write("out", b"precious");
    failed(child.wait_with_output().unwrap(), 3);
    assert_eq!(folder.names(), ["out"]);
    assert_eq!(folder.read("out"), b"precious");
}

#[test]
fn links_are_followed() {
    let folder = Folder::new("links");
    folder.write("a", &words(100));
    folder.write("real", b"old");
    symlink("real", folder.path("link")).unwrap();
    symlink("nowhere", folder.path("dangling")).unwrap();
    failed(folder.run(&["compress", "a", "-o", "link"]), 2);
    assert_eq!(folder.read("real"), b"old");
    done(folder.run(&["compress", "-f", "a", "-o", "link"]));
    assert!(fs::symlink_metadata(folder.path("link")).unwrap().is_symlink());
    assert!(folder.read("real").starts_with(b"\x89WP"));
    failed(folder.run(&["compress", "-f", "a", "-o", "dangling"]), 3);
    assert_eq!(folder.names(), ["a", "dangling", "link", "real"]);
}

#[test]
fn an_input_is_never_its_own_output() {
    let folder = Folder::new("same");
    let plain = words(100);
    folder.write("a", &plain);
    symlink("a", folder.path("link")).unwrap();
    fs::hard_link(folder.path("a"), folder.path("twin")).unwrap();
    for output in ["a", "./a", "link", "twin"] {
        let message = failed(folder.run(&["compress", "-f", "a", "-o", output]), 2);
        assert!(message.contains("is the input itself"), "{message}");
    }
    let append = OpenOptions::new().append(true).open(folder.path("a")).unwrap();
    let output = folder.command(&["compress", "-c", "a"]).stdout(append).output().unwrap();
    assert!(failed(output, 2).contains("is the input itself"));
    assert_eq!(folder.read("a"), plain);
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let folder = Folder::new("unwritable");
    folder.write("a", &words(100));
    folder.write("file", b"");
    for output in ["missing/out", "file/out", "/proc/warpack-out"] {
        let message = failed(folder.run(&["compress", "a", "-o", output]), 3);
        assert!(message.starts_with(&format!("warpack: {output}: cannot write it: ")), "{message}");
    }
    fs::create_dir(folder.path("locked")).unwrap();
    fs::set_permissions(folder.path("locked"), Permissions::from_mode(0o555)).unwrap();
    if File::create(folder.path("locked/probe")).is_ok() {
        eprintln!("skipped: this user may write into locked directories");
        fs::remove_file(folder.path("locked/probe")).unwrap();
    } else {
        failed(folder.run(&["compress", "a", "-o", "locked/out"]), 3);
    }
    for input in ["missing", "locked", "file/in"] {
        let message = failed(folder.run(&["compress", input]), 3);
        assert!(message.starts_with(&format!("warpack: {input}: cannot open it: ")), "{message}");
    }
    assert_eq!(folder.names(), ["a", "file", "locked"]);
}

#[test]
fn a_full_disk_is_noticed() {
    let folder = Folder::new("full");
    folder.write("a", &words(100_000));
    let archive = done(folder.run(&["compress", "-c", "a"]));
    folder.write("b.wpk", &archive);
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in [&["compress", "-c", "a"][..], &["decompress", "-c", "b.wpk"], &["info", "b.wpk"], &["verify", "b.wpk"]] {
        let output = folder.command(arguments).stdout(full()).output().unwrap();
        assert!(failed(output, 3).contains("No space left"), "{arguments:?}");
    }
    failed(folder.run(&["compress", "a", "-o", "/dev/full"]), 3);
    failed(folder.run(&["decompress", "b.wpk", "-o", "/dev/full"]), 3);
    assert!(!fs::metadata("/dev/full").unwrap().is_file(), "a device is not replaced by a file");
    done(folder.run(&["compress", "a", "-o", "/dev/null"]));
    assert_eq!(folder.names(), ["a", "b.wpk"]);
}

fn wait_for(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never happened");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &mut Child, name: &str) -> ExitStatus {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    // Waiting closes a child's input, and the end of its input is not what shall end it.
    let input = child.stdin.take();
    let status = child.wait().unwrap();
    drop(input);
    status
}

#[test]
fn killed_in_the_middle_it_leaves_nothing() {
    let folder = Folder::new("killed");
    let archive = done(folder.pipe(&["compress", "--block-size", "64K"], &words(1_000_000)));
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        for (arguments, input) in
            [(["compress", "-", "-o", "out"], words(1_000_000)), (["decompress", "-", "-o", "out"], archive.clone())]
        {
            let mut child = folder.start(&arguments);
            child.stdin.as_mut().unwrap().write_all(&input[..input.len() / 2]).unwrap();
            wait_for(|| folder.names().iter().any(|name| name.ends_with(".tmp")));
            let status = signal(&mut child, name);
            assert_eq!(status.signal(), Some(number), "it ends as the signal says");
            assert_eq!(folder.names(), [""; 0], "{name}");
        }
    }
}

/// As `nohup` and `&` do it: the signal was turned off before the program started.
#[test]
fn signals_that_were_turned_off_stay_off() {
    let folder = Folder::new("nohup");
    let mut command = Command::new("sh");
    command.current_dir(&folder.0).args(["-c", "trap '' HUP; exec \"$0\" compress - -o out --backend cpu"]);
    let mut child = command.arg(env!("CARGO_BIN_EXE_warpack")).stdin(Stdio::piped()).spawn().unwrap();
    wait_for(|| folder.names().iter().any(|name| name.ends_with(".tmp")));
    assert!(Command::new("kill").args(["-s", "HUP", &child.id().to_string()]).status().unwrap().success());
    std::thread::sleep(Duration::from_millis(50));
    child.stdin.take().unwrap().write_all(b"still here").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(folder.names(), ["out"]);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let folder = Folder::new("epipe");
    folder.write("a", &words(2_000_000));
    done(folder.run(&["compress", "a"]));
    for arguments in [["compress", "-c", "a"], ["decompress", "-c", "a.wpk"]] {
        let mut child = folder.start(&arguments);
        let mut some = [0; 10];
        child.stdout.as_mut().unwrap().read_exact(&mut some).unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.signal(), Some(13), "as any program that is cut off by SIGPIPE");
    }
}

#[test]
fn damaged_archives_leave_no_output() {
    let folder = Folder::new("damaged");
    folder.write("a", &words(100_000));
    done(folder.run(&["compress", "--block-size", "20000", "a"]));
    let archive = folder.read("a.wpk");
    folder.write("old", b"precious");
    let late = archive.len() - 1000;
    let mut flipped = archive.clone();
    flipped[late] ^= 1;
    for (name, damaged) in [
        ("one bit", flipped),
        ("cut", archive[..late].to_vec()),
        ("longer", [&archive[..], b"\n"].concat()),
        ("something else", b"something else entirely".to_vec()),
        ("nothing", vec![]),
    ] {
        folder.write("b.wpk", &damaged);
        failed(folder.run(&["decompress", "b.wpk"]), 1);
        failed(folder.run(&["decompress", "-f", "b.wpk", "-o", "old"]), 1);
        failed(folder.run(&["verify", "b.wpk"]), 1);
        failed(folder.pipe(&["verify"], &damaged), 1);
        assert_eq!(folder.names(), ["a", "a.wpk", "b.wpk", "old"], "{name}");
        assert_eq!(folder.read("old"), b"precious", "{name}");
    }
}

#[test]
fn messages_give_place_and_reasons_one_a_line() {
    let folder = Folder::new("messages");
    let archive = done(folder.pipe(&["compress", "--block-size", "64K"], &words(100_000)));
    let mut damaged = archive.clone();
    let late = damaged.len() - 200;
    damaged[late] ^= 0x10;
    folder.write("a.wpk", &damaged);
    let message = failed(folder.run(&["verify", "a.wpk"]), 1);
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines[0], "warpack: a.wpk: in block 3");
    assert!(lines.len() >= 2 && lines[1].starts_with("  "), "{message}");
}

#[test]
fn exit_codes_are_as_documented() {
    let folder = Folder::new("codes");
    folder.write("a", b"abc");
    assert_eq!(folder.run(&["--help"]).status.code(), Some(0));
    assert_eq!(folder.run(&["--version"]).status.code(), Some(0));
    let usage: &[&[&str]] = &[
        &[],
        &["unknown"],
        &["compress", "--word-size", "3", "a"],
        &["compress", "--chunk-size", "4097", "a"],
        &["compress", "--codec", "unknown", "a"],
        &["compress", "--dtype", "u128", "a"],
        &["compress", "--shape", "3x", "a"],
        &["compress", "--block-size", "0", "a"],
        &["compress", "--backend", "gpu", "a"],
        &["compress", "-T", "0", "a"],
        &["compress", "a", "a", "-o", "out"],
        &["compress", "-", "-"],
        &["compress", "-c", "--json", "a"],
        &["compress", "-c", "-o", "out", "a"],
        &["compress", "--shape", "18446744073709551615", "--dtype", "u16", "a"],
        &["decompress", "a"],
        &["decompress", "--range", "5..4", "a.wpk"],
        &["bench"],
    ];
    for arguments in usage {
        failed(folder.run(arguments), 2);
    }
    failed(folder.run(&["compress", "--shape", "4", "a"]), 1);
    failed(folder.pipe(&["compress", "--shape", "4"], b"abc"), 1);
    failed(folder.pipe(&["compress", "--shape", "2"], b"abc"), 1);
    failed(folder.run(&["decompress", "a", "-o", "out"]), 1);
    failed(folder.run(&["compress", "missing"]), 3);
    failed(folder.run(&["compress", "--backend", "cuda:99", "a"]), 4);
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn one_bad_input_does_not_stop_the_others() {
    let folder = Folder::new("several");
    folder.write("a", b"abc");
    folder.write("c", b"def");
    let message = failed(folder.run(&["compress", "a", "b", "c"]), 3);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert_eq!(folder.names(), ["a", "a.wpk", "c", "c.wpk"]);
    folder.write("a.wpk", b"damaged");
    fs::remove_file(folder.path("c")).unwrap();
    failed(folder.run(&["decompress", "-f", "a.wpk", "c.wpk"]), 1);
    assert_eq!(folder.read("c"), b"def");
    let output = folder.run(&["verify", "--json", "a.wpk", "c.wpk", "b.wpk"]);
    let list = json(&output.stdout);
    let ok: Vec<bool> = list.as_array().unwrap().iter().map(|entry| entry["ok"].as_bool().unwrap()).collect();
    assert_eq!(ok, [false, true, false]);
    assert!(list[0]["error"].as_str().unwrap().contains("not a warpack archive"), "{list}");
    failed(output, 1);
}

#[test]
fn json_says_what_happened() {
    let folder = Folder::new("json");
    let plain = words(30_000);
    folder.write("a \"quoted\".raw", &plain);
    let arguments = [
        "compress",
        "--json",
        "--codec",
        "clog",
        "--dtype",
        "i16",
        "--shape",
        "30x1000",
        "--block-size",
        "8K",
        "a \"quoted\".raw",
    ];
    let list = json(&done(folder.run(&arguments)));
    let archive_bytes = folder.read("a \"quoted\".raw.wpk").len() as u64;
    assert_eq!(list[0]["input"], "a \"quoted\".raw");
    assert_eq!(list[0]["output"], "a \"quoted\".raw.wpk");
    assert_eq!(list[0]["codec"], "clog");
    assert_eq!(list[0]["backend"], "cpu");
    assert_eq!(list[0]["plain_bytes"], 60_000);
    assert_eq!(list[0]["archive_bytes"], archive_bytes);
    assert_eq!(list[0]["blocks"], 8);

    let list = json(&done(folder.run(&["info", "--json", "a \"quoted\".raw.wpk"])));
    let from_pipe = json(&done(folder.pipe(&["info", "--json"], &folder.read("a \"quoted\".raw.wpk"))));
    for mut info in [list[0].clone(), from_pipe[0].clone()] {
        assert!(info["file"].is_string());
        info.as_object_mut().unwrap().remove("file");
        assert_eq!(info["format_version"], 1);
        assert_eq!(info["dtype"], "i16");
        assert_eq!(info["shape"], serde_json::json!([30, 1000]));
        assert_eq!(info["cut_axis"], 0);
        assert_eq!(info["block_bytes"], 8000);
        assert_eq!(info["blocks"], 8);
        assert_eq!(info["plain_bytes"], 60_000);
        assert_eq!(info["archive_bytes"], archive_bytes);
        assert_eq!(info["stages"][0]["name"], "clog");
        assert_eq!(info["stages"][0]["settings"], "020e", "the words are as wide as the elements");
        assert_eq!(info["stages"].as_array().unwrap().len(), 1);
    }

    let list = json(&done(folder.run(&["verify", "--json", "a \"quoted\".raw.wpk"])));
    assert_eq!(list[0]["ok"], true);
    assert_eq!(list[0]["plain_bytes"], 60_000);
    let list = json(&done(folder.run(&["decompress", "--json", "-f", "a \"quoted\".raw.wpk"])));
    assert_eq!(list[0]["plain_bytes"], 60_000);

    let devices = json(&done(folder.run(&["devices", "--json"])));
    assert!(devices["cpu"]["threads"].as_u64().unwrap() >= 1);
    assert_eq!(devices["cuda"].as_array().unwrap().is_empty(), devices["no_cuda_because"].is_string());
}

#[test]
fn elements_of_16_bits_take_the_causal_codec() {
    let folder = Folder::new("causal");
    let plain = words(30_001);
    for (dtype, codec) in [("u16", "causal"), ("i16", "causal"), ("u8", "clog"), ("f32", "clog"), ("bytes", "clog")] {
        let archive = done(folder.pipe(&["compress", "--dtype", dtype], &plain));
        assert!(done(folder.pipe(&["decompress"], &archive)) == plain, "{dtype}");
        assert_eq!(json(&done(folder.pipe(&["info", "--json"], &archive)))[0]["stages"][0]["name"], codec, "{dtype}");
    }
    for extra in ["--representation=residual", "--form=classic", "--grain=2048", "--level=9", "--tile-size=10000"] {
        let archive = done(folder.pipe(&["compress", "--codec", "causal", extra], &plain[..59_999]));
        assert!(done(folder.pipe(&["decompress"], &archive)) == plain[..59_999], "{extra}");
        failed(folder.pipe(&["compress", "--codec", "clog", extra], &plain), 2);
    }
    for extra in ["--representation=best", "--form=both", "--grain=4096", "--level=3", "--tile-size=3", "--tile-size=17M"] {
        failed(folder.pipe(&["compress", "--codec", "causal", extra], &plain), 2);
    }
}

#[test]
fn chains_of_stages_are_compressed_and_shown() {
    let folder = Folder::new("chains");
    let plain = words(40_000);
    let chain = "lorenzo:element=i32,block_size=32,order=2,centering=on -> zigzag -> clog:chunk_size=4096";
    let archive = done(folder.pipe(&["compress", "--stages", chain], &plain));
    assert!(done(folder.pipe(&["decompress"], &archive)) == plain);
    let shown = text(&done(folder.pipe(&["info"], &archive))).to_owned();
    let stages = "lorenzo of i32, order 2 in blocks of 32, centered, then zigzag, 4-byte words, then clog";
    assert!(shown.contains(stages), "{shown}");
    let info = &json(&done(folder.pipe(&["info", "--json"], &archive)))[0];
    let names: Vec<&str> = info["stages"].as_array().unwrap().iter().map(|stage| stage["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["lorenzo", "zigzag", "clog"]);

    let array = ["compress", "--dtype", "i16", "--shape", "50x40x20", "--block-size", "10K", "--stages"];
    for chain in
        ["lorenzo:extents=shape -> zigzag -> clog", "tiled_lorenzo:extents=shape,tile=2x4x4->hclog", "adaptive_lorenzo->rze"]
    {
        let archive = done(folder.pipe(&[&array[..], &[chain]].concat(), &plain));
        assert!(done(folder.pipe(&["decompress"], &archive)) == plain, "{chain}");
        folder.write("archive", &archive);
        let range = done(folder.run(&["decompress", "--range", "30001+9", "-c", "archive"]));
        assert_eq!(range, plain[30_001..30_010], "{chain}");
    }
    let complaint = failed(folder.pipe(&["compress", "--stages", "lorenzo:block_size=8"], &plain), 2);
    assert!(complaint.contains("--stages: lorenzo: has to know the element type"), "{complaint}");
    let complaint = failed(folder.pipe(&["compress", "--stages", "zigzag:order=2"], &plain), 2);
    assert!(complaint.contains("--stages: zigzag: there is no order, only word_size"), "{complaint}");
    for other in ["--codec=clog", "--word-size=2", "--chunk-size=4096", "--level=9"] {
        failed(folder.pipe(&["compress", "--stages", "zigzag", other], &plain), 2);
    }
    let complaint = failed(folder.pipe(&["compress", "--codec", "lorenzo"], &plain), 2);
    assert!(complaint.contains("--stages"), "{complaint}");
    // Not an error of the command line: the data are not what was said of them.
    let complaint = failed(folder.pipe(&["compress", "--stages", "lorenzo:element=i32"], &plain[1..]), 1);
    assert!(complaint.contains("79999 bytes are no whole number of elements of 4"), "{complaint}");
}

#[test]
fn info_shows_the_tiles_of_the_causal_codec() {
    let folder = Folder::new("tiles");
    folder.write("a", &words(20_001));
    done(folder.run(&[
        "compress",
        "a",
        "--dtype",
        "u16",
        "--tile-size",
        "20000",
        "--representation",
        "residual",
        "--form",
        "classic",
    ]));
    let list = json(&done(folder.run(&["info", "--json", "a.wpk"])));
    let tiles = &list[0]["tiles"];
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let list = tiles["list"].as_array().unwrap();
    assert_eq!(list.iter().map(|tile| number(&tile["plain_bytes"])).collect::<Vec<_>>(), [20_000, 20_000, 2]);
    assert_eq!(
        (&list[0]["representation"], &list[0]["form"], number(&list[0]["chunk_bytes"])),
        (&"residual".into(), &"classic".into(), 8192)
    );
    assert_eq!(list[2]["representation"], "stored");
    for part in ["plain_bytes", "header_bytes", "model_bytes", "record_bytes", "payload_bytes", "filling_bytes"] {
        assert_eq!(number(&tiles["total"][part]), list.iter().map(|tile| number(&tile[part])).sum::<u64>(), "{part}");
    }
    let text = String::from_utf8(done(folder.run(&["info", "a.wpk"]))).unwrap();
    for part in
        ["tiles    3, 40002 bytes: model ", "0        residual, classic, chunks of 8192, 20000 bytes: model ", ", payload "]
    {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn bench_forces_what_is_asked_for_and_compares() {
    let folder = Folder::new("bench-causal");
    let plain = words(30_000);
    folder.write("a_x_u16.raw", &plain);
    folder.write("b.raw", &plain);
    let arguments =
        ["bench", "--json", "-q", "--size", "1", "--repeat", "1", "--codec", "causal", "--representation", "auto,high-first"];
    let arguments =
        [&arguments[..], &["--form", "classic,split", "--grain", "2048,8192", "--level", "1,9", "a_x_u16.raw"]].concat();
    let report = json(&done(folder.run(&arguments)));
    let rows = report["rows"].as_array().unwrap();
    let names: std::collections::BTreeSet<&str> = rows.iter().map(|row| row["causal"].as_str().unwrap()).collect();
    assert_eq!((rows.len(), names.len()), (16, 16), "{names:?}");
    assert!(names.contains("high-first split 2048 -9"), "{names:?}");

    let report = json(&done(folder.run(&["bench", "--compare", "--json", "-q", "."])));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["file"].as_str().unwrap()).collect::<Vec<_>>(), ["a_x_u16.raw", "total"]);
    let ways: Vec<&str> = rows[0]["coded"].as_array().unwrap().iter().map(|coded| coded["way"].as_str().unwrap()).collect();
    assert_eq!(ways, ["causal", "dense", "zstd-1", "zstd-9", "zstd-16", "prep-1", "prep-9", "prep-16"]);
    failed(folder.run(&["bench", "--compare", "--codec", "clog", "."]), 2);
    let text = String::from_utf8(done(folder.run(&["bench", "--compare", "-q", "a_x_u16.raw", "b.raw"]))).unwrap();
    assert!(text.contains("regret") && text.contains("b.raw") && text.contains("total"), "{text}");
}

#[test]
fn info_is_readable() {
    let folder = Folder::new("info");
    folder.write("a", &words(3000));
    done(folder.run(&["compress", "a", "--dtype", "u16", "--shape", "3x1000", "--chunk-size", "4096", "--word-size", "4"]));
    let info = String::from_utf8(done(folder.run(&["info", "a.wpk"]))).unwrap();
    for part in [
        "a.wpk",
        "clog, 4-byte words in chunks of 4096 bytes",
        "u16, shape 3x1000",
        "6000 bytes",
        "1 of 6000 bytes, along axis 0",
    ] {
        assert!(info.contains(part), "{part:?} in {info}");
    }
}

#[test]
fn ranges_come_by_the_index() {
    let folder = Folder::new("range");
    let plain = words(100_000);
    folder.write("a", &plain);
    done(folder.run(&["compress", "--block-size", "10000", "a"]));
    fs::remove_file(folder.path("a")).unwrap();
    for (range, expected) in [
        ("0..0", &plain[..0]),
        ("0..1", &plain[..1]),
        ("9999..10001", &plain[9999..10_001]),
        ("123456+4K", &plain[123_456..127_552]),
        ("199999..", &plain[199_999..]),
        ("200000..", &plain[..0]),
        ("0..200000", &plain[..]),
    ] {
        assert!(done(folder.run(&["decompress", "--range", range, "a.wpk"])) == expected, "{range}");
    }
    assert_eq!(folder.names(), ["a.wpk"], "a part does not take the name of the whole");
    done(folder.run(&["decompress", "--range", "5+7", "a.wpk", "-o", "part"]));
    assert_eq!(folder.read("part"), plain[5..12]);
    let from_file = folder.command(&["decompress", "--range", "5+7"]).stdin(File::open(folder.path("a.wpk")).unwrap()).output();
    assert_eq!(done(from_file.unwrap()), plain[5..12], "redirected files can be sought in");
    failed(folder.run(&["decompress", "--range", "0..200001", "a.wpk"]), 2);
    failed(folder.run(&["decompress", "--range", "200001..", "a.wpk"]), 2);
    assert!(failed(folder.pipe(&["decompress", "--range", "5+7"], &folder.read("a.wpk")), 2).contains("not a pipe"));
    // Damage outside the range does not matter, damage inside leaves nothing.
    let mut damaged = folder.read("a.wpk");
    damaged[200] ^= 1;
    folder.write("a.wpk", &damaged);
    assert!(done(folder.run(&["decompress", "--range", "10000..200000", "a.wpk"])) == plain[10_000..]);
    failed(folder.run(&["decompress", "--range", "9999..10001", "a.wpk", "-o", "bad"]), 1);
    assert_eq!(folder.names(), ["a.wpk", "part"]);
}

#[test]
fn threads_do_not_change_the_bytes() {
    let folder = Folder::new("threads");
    let plain = words(400_000);
    let one = done(folder.pipe(&["compress", "-T", "1", "--block-size", "100K"], &plain));
    let three = done(folder.pipe(&["compress", "-T", "3", "--block-size", "100K"], &plain));
    assert!(one == three);
    assert!(done(folder.pipe(&["decompress", "-T", "1"], &one)) == plain);
}

#[test]
fn every_codec_and_setting_comes_back() {
    let folder = Folder::new("codecs");
    let plain = words(20_001);
    for codec in warpack::stage::codecs().map(|entry| entry.name) {
        for word in ["1", "2", "4", "8"] {
            for chunk in ["4096", "8192", "16384"] {
                let arguments = ["compress", "--codec", codec, "--word-size", word, "--chunk-size", chunk];
                let archive = done(folder.pipe(&arguments, &plain));
                assert!(done(folder.pipe(&["decompress"], &archive)) == plain, "{arguments:?}");
            }
        }
    }
}

/// 256 MiB go through a pipe in blocks of 1 MiB; what is in memory is a handful of blocks.
#[test]
fn memory_is_bounded_by_blocks() {
    let folder = Folder::new("memory");
    let mut child = folder.start(&["compress", "-", "--block-size", "1M", "-o", "out"]);
    let piece = words(1 << 19);
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..256 {
        stdin.write_all(&piece).unwrap();
    }
    assert!(peak_kib(&child) < 64 << 10, "{} KiB while compressing", peak_kib(&child));
    drop(stdin);
    done(child.wait_with_output().unwrap());
    let mut child = folder.start(&["decompress", "out", "-o", "-"]);
    let mut stdout = child.stdout.take().unwrap();
    let mut block = vec![0; 1 << 20];
    for _ in 0..255 {
        stdout.read_exact(&mut block).unwrap();
        assert!(block == piece);
    }
    assert!(peak_kib(&child) < 64 << 10, "{} KiB while decompressing", peak_kib(&child));
    stdout.read_exact(&mut block).unwrap();
    assert_eq!(stdout.read(&mut block).unwrap(), 0);
    done(child.wait_with_output().unwrap());
}

fn peak_kib(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// `script` gives the command a terminal.
#[test]
fn terminals_are_not_flooded_with_bytes() {
    let folder = Folder::new("terminal");
    folder.write("a", &words(100));
    let on_terminal = |command: &str| {
        let line = format!("{} {command} --backend cpu", env!("CARGO_BIN_EXE_warpack"));
        Command::new("script").current_dir(&folder.0).args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output()
    };
    let Ok(refused) = on_terminal("compress -c a") else {
        eprintln!("skipped: there is no `script` to make a terminal with");
        return;
    };
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("standard output is a terminal"));
    let forced = on_terminal("compress -c -f a").unwrap();
    assert_eq!(forced.status.code(), Some(0));
    let summary = on_terminal("compress a").unwrap();
    assert!(String::from_utf8_lossy(&summary.stdout).contains("a: 200 B -> "), "a summary on a terminal only");
}

#[test]
fn bench_measures_what_it_is_asked_for() {
    let folder = Folder::new("bench");
    folder.write("a", &words(1000));
    let arguments = [
        "bench",
        "a",
        "--size",
        "100K",
        "--repeat",
        "2",
        "--codec",
        "clog",
        "--word-size",
        "2,4",
        "--chunk-size",
        "4096",
        "--json",
    ];
    let found = json(&done(folder.run(&arguments)));
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for (row, word) in rows.iter().zip([2, 4]) {
        assert_eq!(row["codec"], "clog");
        assert_eq!(row["word_size"], word);
        assert_eq!(row["chunk_size"], 4096);
        assert_eq!(row["backend"], "cpu");
        assert_eq!(row["plain_bytes"], 102_400);
        assert!(row["ratio"].as_f64().unwrap() > 1.0);
        for direction in ["encode", "decode"] {
            let times = &row[direction];
            assert!(times["gb_per_s"].as_f64().unwrap() > 0.0);
            assert!(times["min_s"].as_f64() <= times["median_s"].as_f64());
            assert!(times["median_s"].as_f64() <= times["max_s"].as_f64());
        }
    }
    let table = String::from_utf8(done(folder.run(&["bench", "a", "--size", "10K", "--repeat", "1"]))).unwrap();
    let rows = table.lines().filter(|line| line.contains("cpu") && line.contains('.')).count();
    let settings = table.lines().filter(|line| line.trim_start().starts_with("clog")).count();
    assert_eq!(settings, 12, "{table}");
    assert!(rows >= 13 && table.contains("stored"), "{table}");
}

#[test]
fn real_data_comes_back() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    let files: Vec<PathBuf> = fs::read_dir(data).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    let files: Vec<&PathBuf> =
        files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "raw")).collect();
    if files.is_empty() {
        eprintln!("skipped: no arrays under tests/data");
    }
    let folder = Folder::new("data");
    for path in files {
        let archive = done(folder.run(&["compress", "-c", path.to_str().unwrap()]));
        assert!(done(folder.pipe(&["decompress"], &archive)) == fs::read(path).unwrap(), "{}", path.display());
    }
}

#[test]
fn sizes_that_nothing_can_hold_are_refused() {
    let folder = Folder::new("sizes");
    folder.write("a", &words(1000));
    for size in ["15EiB", "8EiB"] {
        let output = folder.run(&["bench", "--quiet", "--size", size, "--codec", "clog", "--backend", "cpu", "a"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("--size"), "{}", text(&output.stderr));
    }
    for size in ["0", "257MiB"] {
        let output = folder.run(&["compress", "--block-size", size, "a"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("--block-size"), "{}", text(&output.stderr));
    }
    assert_eq!(folder.names(), ["a"]);
}
