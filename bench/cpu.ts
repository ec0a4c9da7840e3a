import { readdirSync, readFileSync } from 'node:fs'

/** Microseconds that all threads of a process have run. Those of its children do not count. */
export function cpuMicroseconds(pid: number): number {
  const read = (thread: string) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + read(thread), 0) / 1000
}
