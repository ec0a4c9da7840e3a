import { createHash } from 'node:crypto'
import type { PublishFile } from '../../client/sdk/slipway.ts'
import { sha256 } from '../api/content.ts'
import type { Random } from '../support/random.ts'

/** A file that its seed and size reproduce, so that a log stores whole sites in few bytes. */
export interface MadeFile {
  seed: string
  size: number
  /** SHA-256 of its bytes. */
  hash: string
}

/** The files of a version by path. Every version has INDEX and SIBLING, whose seeds name the version. */
export type MadeSite = Record<string, MadeFile>

export const INDEX = 'index.html'
export const SIBLING = 'assets/sibling.bin'

const SIBLING_SIZES = [300, 3000, 20_000, 300_000]

const NAMES = [
  'page',
  'naïve café',
  'über',
  'a+b',
  '50%',
  'deep/er/and/deeper',
  'data',
  'style',
  'notes..txt',
]
const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript',
  bin: 'application/octet-stream',
}

/** The bytes of a file: a line with its seed, then pseudo-random text. */
export function generateBytes({ seed, size }: Pick<MadeFile, 'seed' | 'size'>): Buffer {
  const noise = createHash('shake256', { outputLength: Math.ceil(size * 0.75) })
  return Buffer.from(`slipway ${seed}\n${noise.update(seed).digest('base64')}`).subarray(0, size)
}

/** The version that INDEX or SIBLING names; tags of the head may come before. */
export function parseVersion(bytes: Buffer): string | undefined {
  return /slipway (\S+?)\/(?:index|sibling)\n/.exec(bytes.toString('latin1', 0, 400))?.[1]
}

/** The name of a version. */
export function versionName(site: MadeSite): string {
  return site[INDEX]!.seed.slice(0, -'/index'.length)
}

/** The first version of a site; `name` must be unique among all versions. */
export function firstSite(name: string, random: Random): MadeSite {
  const site = marked(name, random)
  for (let count = random.between(1, 6); count > 0; count--) addFile(site, name, random)
  return site
}

/** A following version: keeps, changes, removes and adds files. */
export function nextSite(site: MadeSite, name: string, random: Random): MadeSite {
  const next = marked(name, random)
  for (const [path, file] of Object.entries(site)) {
    if (path in next || random.chance(0.1)) continue
    next[path] = random.chance(0.2) ? made(`${name}/changed/${path}`, sizeFor(path, random)) : file
  }
  for (let count = random.below(4); count > 0; count--) addFile(next, name, random)
  return next
}

/** The files for the SDK; sometimes without hashes, which the server then computes. */
export function publishFiles(site: MadeSite, random: Random): PublishFile[] {
  const declared = random.chance(0.8)
  return Object.entries(site).map(([path, file]) => ({
    path,
    size: file.size,
    contentType: guessContentType(path),
    ...(declared && { hash: file.hash }),
    open: () => generateBytes(file),
  }))
}

export function guessContentType(path: string): string {
  return TYPES[path.split('.').at(-1)!] ?? 'text/plain; charset=utf-8'
}

function marked(name: string, random: Random): MadeSite {
  const sibling = made(`${name}/sibling`, random.pick(SIBLING_SIZES))
  return { [INDEX]: made(`${name}/index`, 800), [SIBLING]: sibling }
}

/** Contents that any site may have, so that a deleted blob is published again. */
const SHARED = Array.from({ length: 25 }, (_, number) => made(`shared/${number}`, 200 + 50 * number))

/** Sometimes adds existing content under another path, which shares a blob. */
function addFile(site: MadeSite, name: string, random: Random): void {
  const path = `${random.pick(NAMES)} ${random.below(100)}.${random.pick(['html', 'txt', 'js', 'bin'])}`
  if (path in site) return
  const others = Object.values(site)
  const existing = random.chance(0.3) ? random.pick([...others, ...SHARED]) : undefined
  site[path] = existing ?? made(`${name}/${path}`, sizeFor(path, random))
}

/**
 * Mostly small; some exceed the server's memory buffer. Those have a type that is not compressed, which would take a
 * minute of CPU time.
 */
function sizeFor(path: string, random: Random): number {
  if (path.endsWith('.bin') && random.chance(0.12)) return random.between(300_000, 1_500_000)
  return random.chance(0.3) ? random.between(1, 300) : random.between(300, 8000)
}

function made(seed: string, size: number): MadeFile {
  return { seed, size, hash: sha256(generateBytes({ seed, size })) }
}

/** The files of a version of which only the number matters: its page, and a file of one of three sizes. */
export function numberedFiles(number: number): Record<string, Buffer> {
  const size = [300, 20_000, 300_000][number % 3]!
  return {
    [INDEX]: Buffer.from(`<!doctype html><title>Content ${number}</title><p>Welcome`),
    'data.bin': generateBytes({ seed: `${number}`, size }),
  }
}
