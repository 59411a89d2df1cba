//! Whether the canonical digest stays linear in time and flat in memory, up to a module of one gigabyte.
//!
//! Each size is measured in a process of its own, which tells its peak memory (`VmHWM`): before the digest, when it holds
//! the text, and after. A text is a module of many functions, each with thousands of values, layouts and locations.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, ensure};
use switchback_ir::Stage;

/// Sizes in bytes; the largest is the one that the rule is stated for.
const SIZES: [usize; 4] = [16 << 20, 64 << 20, 256 << 20, 1 << 30];
/// Operations in a function of the generated module.
const OPERATIONS: usize = 5000;
/// The name under which this program measures one size.
pub(super) const CHILD: &str = "ir-one-size";
/// A size may cost so much more a byte than the smallest before it is called more than linear.
const MOST_A_BYTE: f64 = 2.0;

/// Measures all sizes and prints a row for each.
///
/// # Errors
/// A child fails, or the cost is more than linear.
pub(super) fn run() -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut first = None;
    for bytes in SIZES {
        let output = Command::new(&program).args(["bench", CHILD, &bytes.to_string()]).output()?;
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            output.status.success(),
            "the digest of {bytes} bytes failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let mut words = told.split_whitespace();
        let mut number = || -> anyhow::Result<f64> {
            words.next().context("the child said too little")?.parse().context("no number")
        };
        let (length, seconds, before_mb, after_mb) = (number()?, number()?, number()?, number()?);
        let a_byte = seconds / length;
        println!(
            "ir, one module: {:7.1} MB: {seconds:.3} s of one core ({:.0} MB/s), peak memory {:.1} MB over the text's own",
            length / 1e6,
            length / 1e6 / seconds,
            after_mb - before_mb
        );
        let first = *first.get_or_insert(a_byte);
        ensure!(
            a_byte < first * MOST_A_BYTE,
            "{bytes} bytes cost {:.1} times as much a byte as {}",
            a_byte / first,
            SIZES[0]
        );
    }
    Ok(())
}

/// Measures one size in this process: prints bytes, seconds on a core, peak memory in MB before and after.
///
/// # Errors
/// The argument is no number, or this system tells no peak memory.
pub(super) fn child(argument: Option<&&str>) -> anyhow::Result<()> {
    let bytes: usize = argument.context("how many bytes?")?.parse().context("no number of bytes")?;
    let text = module(bytes);
    let before_mb = peak_memory_mb()?;
    let start_s = core_seconds()?;
    let digest = switchback_ir::digest(&Stage::Ttgir, text.as_bytes());
    let seconds = core_seconds()? - start_s;
    ensure!(
        !digest.incomplete && !digest.raw,
        "the generated module reads as damaged: {:?}",
        digest.warnings
    );
    println!("{} {seconds} {before_mb} {}", text.len(), peak_memory_mb()?);
    Ok(())
}

/// A module of about so many bytes.
fn module(bytes: usize) -> String {
    // Never grown, so that the peak holds the text once.
    let mut text = String::with_capacity(bytes + (1 << 20));
    text.push_str(
        "#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>\n\
         #loc = loc(\"/opt/library/ops/kernel.py\":1:0)\nmodule attributes {\"ttg.num-warps\" = 4 : i32} {\n",
    );
    let mut function = 0;
    while text.len() < bytes {
        let _ = writeln!(text, "  tt.func private @kernel_{function}(%arg0: i32 loc(unknown)) -> i32 {{");
        let _ = writeln!(text, "    %v0 = arith.constant {function} : i32 loc(#loc)");
        for at in 1..OPERATIONS {
            if text.len() >= bytes {
                break;
            }
            let _ = if at % 8 == 0 {
                writeln!(
                    text,
                    "    %w{at} = tt.splat %v{} : i32 -> tensor<64x64xi32, #blocked> loc(#loc{})\n    %v{at} = arith.constant {at} : i32 loc(#loc)",
                    at - 1,
                    at % 100
                )
            } else {
                writeln!(text, "    %v{at} = arith.addi %v{}, %arg0 : i32 loc(\"kernel.py\":{at}:4)", at - 1)
            };
        }
        text.push_str("    tt.return %v0 : i32 loc(#loc)\n  } loc(#loc)\n");
        function += 1;
    }
    text.push_str("} loc(#loc)\n");
    text
}

/// Seconds that this thread has had a core.
fn core_seconds() -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").context("this system has no /proc")?;
    let nanoseconds: f64 = text.split_whitespace().next().context("no time is told")?.parse()?;
    Ok(nanoseconds / 1e9)
}

/// The most memory that this process has held at once.
fn peak_memory_mb() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("this system has no /proc")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak memory is told")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().context("no number of kB")?;
    Ok(kilobytes * 1024.0 / 1e6)
}
