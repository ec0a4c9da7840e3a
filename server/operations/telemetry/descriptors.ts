import { readdir, readFile } from 'node:fs/promises'

/** Rejects on systems other than Linux. */
export async function readDescriptors(): Promise<{ open: number; limit: number }> {
  const [, limit = ''] = /^Max open files +(\d+)/m.exec(await readFile('/proc/self/limits', 'utf8')) ?? []
  return { open: (await readdir('/proc/self/fd')).length, limit: Number(limit) }
}
