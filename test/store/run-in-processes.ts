import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PROGRAM = join(import.meta.dirname, 'task-process.ts')

interface Work {
  processes: number
  /** A task of task-process.ts. */
  task: string
  times?: number
}

/**
 * Runs a task in several processes concurrently, for each address in sequence, after all processes are ready. Returns
 * their results by address; rejects when one fails.
 */
export async function runInProcesses<TaskResult>(
  addresses: readonly string[],
  { processes, task, times = 1 }: Work,
): Promise<TaskResult[][]> {
  await using stack = new AsyncDisposableStack()
  const others = Array.from({ length: processes }, () => stack.use(start([task, String(times)])))
  await Promise.all(others.map((other) => other.line()))
  const rounds: TaskResult[][] = []
  for (const address of addresses)
    rounds.push(await Promise.all(others.map((other) => other.perform(address))))
  return rounds
}

function start(args: string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${args.join(' ')} ended with exit code ${(await ended)[0]}`)
    return JSON.parse(value)
  }
  return {
    line,
    async perform(address: string) {
      child.stdin.write(`${address}\n`)
      const { answer, error } = await line()
      if (error !== undefined) throw new Error(`${args.join(' ')} at ${address}: ${error}`)
      return answer
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
}
