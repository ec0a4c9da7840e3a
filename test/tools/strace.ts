import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** System calls of a process, or what is done to them; a test says `needs('strace')`. */
export interface Strace extends AsyncDisposable {
  /** The lines of strace so far. */
  lines: string[]
  /** Resolves when a line has this text, now or later. */
  until(text: string): Promise<void>
}

/**
 * Attaches strace to a running process and all its threads with these arguments, such as
 * `['-e', 'inject=fsync:error=EIO']`. Resolves when it is at work; disposing takes it off again.
 */
export async function attachStrace(pid: number, args: readonly string[]): Promise<Strace> {
  const child = spawn('strace', ['-f', '-y', '-s', '0', ...args, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  const lines: string[] = []
  let more = Promise.withResolvers<void>()
  let ending = false
  createInterface({ input: child.stderr })
    .on('line', (line) => {
      lines.push(line)
      more.resolve()
      more = Promise.withResolvers()
    })
    .on('close', () => {
      ending = true
      more.resolve()
    })
  const until = async (text: string) => {
    while (!lines.some((line) => line.includes(text))) {
      if (ending) throw new Error(`strace ended:\n${lines.join('\n')}`)
      await more.promise
    }
  }
  await until('attached')
  return {
    lines,
    until,
    async [Symbol.asyncDispose]() {
      child.kill('SIGINT')
      await ended
    },
  }
}
