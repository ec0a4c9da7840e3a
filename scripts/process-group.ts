import type { ChildProcess } from 'node:child_process'

/** Ends a child that was started with `detached`, with all processes that it started and that stayed in its group. */
export function killProcessGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
