import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** System calls of a process, or what is done to them; a test says `needs('strace')`. */
export interface Strace extends AsyncDisposable {
  /** Takes strace off again and answers its lines, one a system call, with the paths of files beside their numbers. */
  stop(): Promise<string[]>
}

/**
 * Attaches strace to a running process and all its threads, with arguments such as
 * `['-e', 'inject=fsync:error=EIO']`. Resolves when it is at work. The process may be this one.
 */
export async function attachStrace(pid: number, args: readonly string[]): Promise<Strace> {
  await using started = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'slipway-strace-'))
  started.defer(() => rm(folder, { recursive: true, force: true }))
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
  await attached(child.stderr)
  const owned = started.move()
  return {
    async stop() {
      await end()
      return (await readFile(file, 'utf8')).trimEnd().split('\n')
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function attached(said: NodeJS.ReadableStream): Promise<void> {
  const lines: string[] = []
  for await (const line of createInterface({ input: said })) {
    lines.push(line)
    if (line.includes('attached')) return void said.resume()
  }
  throw new Error(`strace did not attach:\n${lines.join('\n')}`)
}
