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
export class TaskProcesses implements AsyncDisposable {
  readonly #processes: TaskProcess[]
  readonly #stack: AsyncDisposableStack

  /** The processes that all tests of this process use, and that end with it. */
  static shared(): Promise<TaskProcesses> {
    shared ??= TaskProcesses.startWithClocks(Array(PROCESSES).fill('+0s'))
    return shared
  }

  /**
   * Starts a process for each of these differences of its clock, such as `-1h`. Resolves when all are ready, so that they
   * begin a task at the same time.
   */
  static async startWithClocks(differences: readonly string[]): Promise<TaskProcesses> {
    await using stack = new AsyncDisposableStack()
    const processes = differences.map((difference) => stack.use(start(difference)))
    await Promise.all(processes.map((one) => one.readLine()))
    return new TaskProcesses(processes, stack.move())
  }

  private constructor(processes: TaskProcess[], stack: AsyncDisposableStack) {
    this.#processes = processes
    this.#stack = stack
  }

  /** Runs a task on the store at an address in all processes; returns their results, and rejects when one fails. */
  run<Result>(task: string, address: string): Promise<Result[]> {
    return Promise.all(this.#processes.map((one) => one.perform(task, address) as Promise<Result>))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }
}

type TaskProcess = ReturnType<typeof start>

function start(clockDifference: string) {
  const command = [process.execPath, PROGRAM]
  if (clockDifference !== '+0s') command.unshift('faketime', '-f', clockDifference)
  const [file, ...rest] = command
  const child = spawn(file!, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
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
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
}
