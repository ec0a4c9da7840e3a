import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** Linux counts CPU time in hundredths of a second (USER_HZ). */
const TICK_MS = 10

interface ProcessTimes {
  parent: number
  group: number
  /** Of the process and of its children that have ended. */
  cpuMs: number
}

/** The processes of this machine at one moment; empty where there is no `/proc`. */
export class ProcessTable {
  readonly #processes: ReadonlyMap<number, ProcessTimes>

  constructor() {
    this.#processes = new Map(listProcesses().flatMap(readProcess))
  }

  /**
   * The CPU time in milliseconds of a process group and of the descendants of its first process, which may have left
   * the group. Without what processes used whose parent has not waited for them.
   */
  groupCpuMs(leader: number): number {
    return [...this.#processes]
      .filter(([pid, { group }]) => group === leader || this.#descendsFrom(pid, leader))
      .reduce((sum, [, { cpuMs }]) => sum + cpuMs, 0)
  }

  #descendsFrom(pid: number, ancestor: number): boolean {
    for (let at: number | undefined = pid; at; at = this.#processes.get(at)?.parent)
      if (at === ancestor) return true
    return false
  }
}

function listProcesses(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

/** proc(5): the fields of `/proc/PID/stat` after the name of the program, which may have spaces and parentheses. */
function readProcess(name: string): [number, ProcessTimes][] {
  try {
    const text = readFileSync(`/proc/${name}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return [[Number(name), { parent: Number(fields[1]), group: Number(fields[2]), cpuMs: ticks * TICK_MS }]]
  } catch {
    // The process has ended.
    return []
  }
}

/** Milliseconds that the cores of this machine were idle since its start, summed. */
export function idleMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0)
}
