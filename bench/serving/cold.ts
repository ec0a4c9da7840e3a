import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { type Files, PATHS } from './content.ts'
import { Line } from './reply.ts'
import { browserRequest } from './request.ts'
import type { Server } from './server.ts'

/** Files that are not requested before they are measured. */
export function coldFiles(count: number): Files {
  const file = () => ({ contentType: 'image/jpeg', bytes: randomBytes(4096) })
  return new Map(Array.from({ length: count }, (_, index) => [`cold-${index}.jpg`, file()]))
}

/** Only root can drop files from the page cache. */
export function canDropCaches(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0
}

/**
 * Milliseconds to the first byte of each file, for each server in turn. Before each request the page cache is
 * dropped and a warm file is requested, so that only the file itself is cold.
 */
export async function coldFirstBytes(
  servers: readonly Server[],
  paths: readonly string[],
): Promise<number[][]> {
  const taken = servers.map((): number[] => [])
  // Before the connections: servers close those that wait for a slow disk.
  execFileSync('sync')
  using stack = new DisposableStack()
  const lines = await Promise.all(servers.map(async ({ port }) => stack.use(await Line.open(port))))
  for (const [index, path] of paths.entries()) {
    for (let turn = 0; turn < servers.length; turn++) {
      const place = (index + turn) % servers.length
      taken[place]!.push(await coldFirstByte(lines[place]!, servers[place]!, path))
    }
  }
  return taken
}

async function coldFirstByte(line: Line, { name, host }: Server, path: string): Promise<number> {
  writeFileSync('/proc/sys/vm/drop_caches', '3')
  await line.send(browserRequest(`/${PATHS.plain}`, host))
  const { status, firstByte } = await line.send(browserRequest(`/${path}`, host))
  if (status !== 200) throw new Error(`${name} answered ${status} to a file that was never read`)
  return firstByte
}
