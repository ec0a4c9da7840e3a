import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { memoryFolder } from './memory-folder.ts'

/** A trace of system calls of a process; tests use `requires('strace')`. */
export interface Strace extends AsyncDisposable {
  /** Detaches strace; returns one line per system call, with file paths beside descriptors. */
  stop(): Promise<string[]>
}

/**
 * Attaches strace to a running process and all its threads, with arguments such as
 * `['-e', 'inject=fsync:error=EIO']`. Resolves when it is attached. The process may be this one.
 */
export async function attachStrace(pid: number, args: readonly string[]): Promise<Strace> {
  await using started = new AsyncDisposableStack()
  const { path: folder } = started.use(await memoryFolder())
  const file = join(folder, 'lines')
  const child = spawn('strace', ['-f', '-y', '-s', '4096', '-o', file, ...args, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  const end = async () => {
    child.kill('SIGINT')
    await ended
  }
  started.defer(end)
  await waitUntilAttached(child.stderr)
  const owned = started.move()
  return {
    async stop() {
      await end()
      return (await readFile(file, 'utf8')).trimEnd().split('\n')
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function waitUntilAttached(output: NodeJS.ReadableStream): Promise<void> {
  const lines: string[] = []
  for await (const line of createInterface({ input: output })) {
    lines.push(line)
    if (line.includes('attached')) return void output.resume()
  }
  throw new Error(`strace did not attach:\n${lines.join('\n')}`)
}
