import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PROGRAM = join(import.meta.dirname, 'other-process.ts')

interface Work {
  processes: number
  /** One of other-process.ts. */
  task: string
  times?: number
}

/**
 * Several processes do a task on the same data at once, at each address in turn: none begins before all are there.
 * Answers what each came to, address by address; rejects when one had trouble.
 */
export async function inOtherProcesses<Answer>(
  addresses: readonly string[],
  { processes, task, times = 1 }: Work,
): Promise<Answer[][]> {
  await using stack = new AsyncDisposableStack()
  const others = Array.from({ length: processes }, () => stack.use(start([task, String(times)])))
  await Promise.all(others.map((other) => other.line()))
  const rounds: Answer[][] = []
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
      const { answer, trouble } = await line()
      if (trouble !== undefined) throw new Error(`${args.join(' ')} at ${address}: ${trouble}`)
      return answer
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
}
