import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Content } from './publish-flow.ts'

/**
 * The baseline of a publish: what one Node process needs to write the same files durably. Each is written,
 * flushed and renamed, 16 concurrently, and each folder is flushed. Milliseconds.
 */
export async function writeFiles(folder: string, content: Content): Promise<number> {
  const start = performance.now()
  const folders = new Set([...content.keys()].map((path) => dirname(join(folder, path))))
  for (const one of folders) await mkdir(one, { recursive: true })
  const queue = [...content]
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await writeFile(join(folder, next[0]), next[1])
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  for (const one of [folder, ...folders]) await flushFolder(one)
  return performance.now() - start
}

/** The minimum for the same bytes: appended to one file, which is flushed once. Milliseconds. */
export async function appendFiles(path: string, content: Content): Promise<number> {
  await mkdir(dirname(path), { recursive: true })
  const start = performance.now()
  const handle = await open(path, 'wx')
  for (const bytes of content.values()) await handle.write(bytes)
  await handle.sync()
  await handle.close()
  await flushFolder(dirname(path))
  return performance.now() - start
}

async function writeFile(path: string, bytes: Buffer): Promise<void> {
  const handle = await open(`${path}.part`, 'wx')
  await handle.write(bytes)
  await handle.sync()
  await handle.close()
  await rename(`${path}.part`, path)
}

async function flushFolder(path: string): Promise<void> {
  const handle = await open(path)
  await handle.sync()
  await handle.close()
}
