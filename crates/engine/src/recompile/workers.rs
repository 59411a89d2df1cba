//! All kernels in all environments, on all cores.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use switchback_ir::{Digest, Stage};
use switchback_store::StoreError;

use super::child::{Compiler, Said, job};
use super::environments::{Environment, Kernel};
use super::{ByKernel, Compiled};
use crate::error::EngineError;
use crate::executor::Interrupt;

/// Fewer kernels than this are not worth a process, whose start costs as much as compiling one or two.
const FEWEST_KERNELS: usize = 4;

/// Some kernels in one environment.
struct Task {
    environment: usize,
    part: usize,
    kernels: Vec<usize>,
}

/// Compiles every kernel in every environment; the result is in the order of `environments`.
///
/// # Errors
/// A process cannot be started, the disk is full, or the user asked to stop.
pub(super) fn run(
    compiler: &Compiler,
    kernels: &[Kernel],
    environments: &[Environment],
    work: &Path,
    workers: usize,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<ByKernel>, EngineError> {
    let total = kernels.len() * environments.len();
    let tasks = Mutex::new(tasks(kernels.len(), environments.len(), workers));
    let mut results = vec![ByKernel::new(); environments.len()];
    let (sender, receiver) = channel();
    let first_error = std::thread::scope(|scope| {
        for _ in 0..workers {
            let sender = sender.clone();
            let tasks = &tasks;
            scope.spawn(move || {
                while let Some(task) = next(tasks) {
                    let environment = &environments[task.environment];
                    if let Err(error) = one(compiler, kernels, environment, &task, work, interrupt, &sender) {
                        let _ = sender.send(Err(error));
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut first_error = None;
        let mut done = 0;
        progress(0, total);
        for message in receiver {
            match message {
                Ok((environment, kernel, compiled)) => {
                    results[environment].insert(kernel, compiled);
                    done += 1;
                    progress(done, total);
                }
                Err(error) => {
                    // The others stop at their next kernel.
                    tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
                    first_error.get_or_insert(error);
                }
            }
        }
        first_error
    });
    match first_error {
        Some(error) => Err(error),
        None => Ok(results),
    }
}

fn next(tasks: &Mutex<VecDeque<Task>>) -> Option<Task> {
    tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front()
}

/// Splits the work: one process an environment, or several where there are more cores than environments.
fn tasks(kernels: usize, environments: usize, workers: usize) -> VecDeque<Task> {
    let parts = workers.div_ceil(environments).min(kernels.div_ceil(FEWEST_KERNELS)).max(1);
    (0..environments)
        .flat_map(|environment| (0..parts).map(move |part| (environment, part)))
        .map(|(environment, part)| Task {
            environment,
            part,
            kernels: (0..kernels).filter(|kernel| kernel % parts == part).collect(),
        })
        .collect()
}

type Message = Result<(usize, usize, Compiled), EngineError>;

/// One task: as many processes as it takes, since one that dies takes only its kernel along.
fn one(
    compiler: &Compiler,
    kernels: &[Kernel],
    environment: &Environment,
    task: &Task,
    work: &Path,
    interrupt: &Interrupt,
    sender: &Sender<Message>,
) -> Result<(), EngineError> {
    let out = work.join(&environment.name);
    let tell = |kernel: usize, compiled: Compiled| {
        let _ = sender.send(Ok((task.environment, kernel, compiled)));
    };
    let mut left: VecDeque<usize> = task.kernels.iter().copied().collect();
    let mut attempt = 0;
    while !left.is_empty() {
        let chosen: Vec<(usize, &Kernel)> = left.iter().map(|&kernel| (kernel, &kernels[kernel])).collect();
        let name = format!("{}.{attempt}", task.part);
        let job = job(&chosen, &out)?;
        let mut begun = None;
        let mut failure: Option<EngineError> = None;
        let mut no_compiler = None;
        let mut ended = compiler.run(environment, &name, &job, interrupt, &mut |said| {
            let index = |id: &str| id.parse::<usize>().ok();
            match said {
                Said::Begin { id } => begun = index(&id),
                Said::Done { id, stages } => {
                    let Some(kernel) = index(&id) else { return };
                    begun = None;
                    left.retain(|it| *it != kernel);
                    match digests(&out.join(&id), &kernels[kernel].name, &stages) {
                        Ok(stages) => tell(kernel, Compiled::Done(stages)),
                        Err(error) => failure = Some(error.into()),
                    }
                }
                Said::Failed { id, error } => {
                    let Some(kernel) = index(&id) else { return };
                    begun = None;
                    left.retain(|it| *it != kernel);
                    tell(kernel, Compiled::Failed(error));
                }
                Said::NoCompiler { error, .. } => no_compiler = Some(error),
                Said::Compiler(_) | Said::End => {}
            }
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        if let Some(error) = no_compiler {
            ended.reason = format!("the compiler cannot be loaded: {error}");
        }
        match begun {
            Some(kernel) => {
                left.retain(|it| *it != kernel);
                tell(kernel, Compiled::Failed(ended.reason));
            }
            // It died before it began with any: in this environment the compiler does not even start.
            None => {
                for kernel in left.drain(..) {
                    tell(kernel, Compiled::Failed(ended.reason.clone()));
                }
            }
        }
        attempt += 1;
    }
    Ok(())
}

/// Canonical digests of one kernel's stages.
fn digests(folder: &Path, name: &str, stages: &[String]) -> Result<BTreeMap<Stage, Digest>, StoreError> {
    let name = switchback_store::path_name::path_name(name);
    stages
        .iter()
        .map(|stage| {
            let path = folder.join(format!("{name}.{stage}"));
            let text = std::fs::read(&path).map_err(|source| StoreError::Io {
                action: "read",
                path: path.clone(),
                source,
            })?;
            let stage = Stage::from_name(stage);
            let digest = switchback_ir::digest(&stage, &text).digest;
            Ok((stage, digest))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_compiled_once_in_every_environment_whatever_the_cores() {
        for (kernels, environments, workers) in [(26, 7, 2), (26, 2, 64), (3, 2, 64), (1, 1, 1)] {
            let tasks = tasks(kernels, environments, workers);
            let mut all: Vec<(usize, usize)> = tasks
                .iter()
                .flat_map(|task| task.kernels.iter().map(|kernel| (task.environment, *kernel)))
                .collect();
            all.sort_unstable();
            let expected: Vec<(usize, usize)> =
                (0..environments).flat_map(|it| (0..kernels).map(move |kernel| (it, kernel))).collect();
            assert_eq!(all, expected);
            assert!(tasks.len() == environments || tasks.len() >= workers.min(kernels / FEWEST_KERNELS));
        }
    }
}
