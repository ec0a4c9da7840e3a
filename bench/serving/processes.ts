import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** CPU seconds so far of a process and its children. The kernel counts in hundredths. */
export function cpuSeconds(pid: number): number {
  return family(pid).reduce((sum, one) => sum + readTicks(one) / 100, 0)
}

/**
 * CPU seconds of the threads of a process. The kernel counts them in nanoseconds, and those of `cpuSeconds` in ticks of
 * 10 ms, which are too long for work of microseconds. Those of its children, and of threads that have ended, do not count.
 */
export function threadSeconds(pid: number): number {
  const folder = `/proc/${pid}/task`
  const read = (thread: string) => Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0])
  return readdirSync(folder).reduce((sum, thread) => sum + read(thread), 0) / 1e9
}

/** Of the threads of a process and of its children, such as its workers. */
export function familySeconds(pid: number): number {
  return family(pid).reduce((sum, one) => sum + threadSeconds(one), 0)
}

/** CPU seconds of the children of this process that have ended, in ticks of 10 ms. */
export function childrenSeconds(): number {
  const fields = readStat(process.pid)
  return (Number(fields[13]) + Number(fields[14])) / 100
}

/**
 * Samples a process's resident memory every 20 ms; reports the peak beyond the first sample, in MB (10^6
 * bytes).
 */
export class MemoryWatch implements Disposable {
  readonly #pid: number
  readonly #first: number
  readonly #done: (added: number) => void
  readonly #timer: NodeJS.Timeout
  #peak: number

  constructor(pid: number, done: (added: number) => void) {
    this.#pid = pid
    this.#done = done
    this.#first = this.#peak = readResidentBytes(pid)
    this.#timer = setInterval(() => this.#sample(), 20)
  }

  #sample(): void {
    this.#peak = Math.max(this.#peak, readResidentBytes(this.#pid))
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#sample()
    this.#done(this.#peak - this.#first)
  }
}

/**
 * Milliseconds so far in which some program of this machine waited for a core (Linux's pressure stall
 * information): almost none where only the server and wrk run on a core each. Undefined where the kernel does
 * not report it.
 */
export function waitedForCores(): number | undefined {
  if (!existsSync('/proc/pressure/cpu')) return undefined
  const [, microseconds] = /^some .*total=(\d+)/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))!
  return Number(microseconds) / 1000
}

function readResidentBytes(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
  return (pages * 4096) / 1e6
}

function family(pid: number): number[] {
  const children = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && readParent(Number(name)) === pid,
  )
  return [pid, ...children.map(Number)]
}

function readParent(pid: number): number | undefined {
  try {
    return Number(readStat(pid)[1])
  } catch {
    return undefined
  }
}

/** Zero for a process that has ended, such as a compression process. */
function readTicks(pid: number): number {
  try {
    const fields = readStat(pid)
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

/** The fields after the name, which may contain blanks: state, parent, … (proc_pid_stat(5)). */
function readStat(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}
