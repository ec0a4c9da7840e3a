import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Seconds on a core so far, of a process and its children. The kernel counts in hundredths. */
export function cpuSeconds(pid: number): number {
  return family(pid).reduce((sum, one) => sum + ticksOf(one) / 100, 0)
}

/** Looks at a process's resident memory every 20 ms; says what the most was beyond the first look, in MB (10^6 bytes). */
export class MemoryWatch implements Disposable {
  readonly #pid: number
  readonly #first: number
  readonly #done: (added: number) => void
  readonly #timer: NodeJS.Timeout
  #most: number

  constructor(pid: number, done: (added: number) => void) {
    this.#pid = pid
    this.#done = done
    this.#first = this.#most = residentOf(pid)
    this.#timer = setInterval(() => this.#look(), 20)
  }

  #look(): void {
    this.#most = Math.max(this.#most, residentOf(this.#pid))
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#look()
    this.#done(this.#most - this.#first)
  }
}

/**
 * Milliseconds so far in which some program of this machine waited for a core (Linux's pressure information): where only
 * the server and wrk run, each on its own, hardly any. Undefined where the kernel does not tell.
 */
export function waitedForCores(): number | undefined {
  if (!existsSync('/proc/pressure/cpu')) return undefined
  const [, microseconds] = /^some .*total=(\d+)/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))!
  return Number(microseconds) / 1000
}

function residentOf(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
  return (pages * 4096) / 1e6
}

function family(pid: number): number[] {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(Number(name)) === pid)
  return [pid, ...children.map(Number)]
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(statOf(pid)[1])
  } catch {
    return undefined
  }
}

/** Nothing of one that has ended meanwhile: a child that makes encodings does. */
function ticksOf(pid: number): number {
  try {
    const fields = statOf(pid)
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

/** The fields after the name, which may have blanks: state, parent, … (proc_pid_stat(5)). */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}
