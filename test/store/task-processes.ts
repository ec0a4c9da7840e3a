import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PROGRAM = join(import.meta.dirname, 'task-process.ts')

export const PROCESSES = 2

/** How often a process repeats a task. */
export const TIMES = 50

let shared: Promise<TaskProcesses> | undefined

/** Processes that run the tasks of task-process.ts. */
export class TaskProcesses {
  readonly #processes: TaskProcess[]

  /** The processes that all tests of this process use, and that end with it; they begin a task at the same time. */
  static shared(): Promise<TaskProcesses> {
    shared ??= TaskProcesses.#start()
    return shared
  }

  static async #start(): Promise<TaskProcesses> {
    const processes = Array.from({ length: PROCESSES }, start)
    await Promise.all(processes.map((one) => one.readLine()))
    return new TaskProcesses(processes)
  }

  private constructor(processes: TaskProcess[]) {
    this.#processes = processes
  }

  /** Runs a task on the store at an address in all processes; returns their results, and rejects when one fails. */
  run<Result>(task: string, address: string): Promise<Result[]> {
    return Promise.all(this.#processes.map((one) => one.perform(task, address) as Promise<Result>))
  }
}

type TaskProcess = ReturnType<typeof start>

function start() {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  // Tests that have ended do not wait for it.
  child.unref()
  for (const stream of [child.stdin, child.stdout]) (stream as Socket).unref()
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const readLine = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`the process ended with exit code ${(await ended)[0]}`)
    return JSON.parse(value)
  }
  return {
    readLine,
    async perform(task: string, address: string): Promise<unknown> {
      child.stdin.write(`${task} ${address}\n`)
      const { answer, error } = await readLine()
      if (error !== undefined) throw new Error(`${task} at ${address}: ${error}`)
      return answer
    },
  }
}
