import { deterministicBytes } from '../blobs/bytes.ts'

/** The paths of every version. */
export const PATHS = ['/', '/data.bin'] as const

const SIZES = [300, 20_000, 300_000]

/** The files of a version, which depend on its number only. */
export function filesOf(content: number): Record<string, Buffer> {
  return {
    'index.html': Buffer.from(`<!doctype html><title>Content ${content}</title><p>Welcome`),
    'data.bin': dataOf(content),
  }
}

/** The number of the version that has these bytes at a path; undefined when no version has them. */
export function contentOf(path: string, body: Buffer): number | undefined {
  const found = /^(?:<!doctype html><title>Content )?(\d+)[\n<]/.exec(body.toString('latin1', 0, 60))
  const content = Number(found?.[1])
  const expected = filesOf(content)[path === '/' ? 'index.html' : path.slice(1)]
  return expected?.equals(body) ? content : undefined
}

function dataOf(content: number): Buffer {
  const size = SIZES[content % SIZES.length]!
  return Buffer.concat([Buffer.from(`${content}\n`), deterministicBytes(content, size)])
}
