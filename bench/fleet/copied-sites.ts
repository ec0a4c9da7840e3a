import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { program } from '../../scripts/program.mjs'
import { createObjectName, objectHashPrefix } from '../../server/blobs/blobs.ts'
import { decodeTime, newId } from '../../server/lib/tokens.ts'
import { newSlug } from '../../server/sites/slug.ts'

/** The tables with rows of sites. */
export const SITE_TABLES = ['accounts', 'sites', 'versions', 'blobs', 'blob_names', 'encodings'] as const

type Tables = Record<(typeof SITE_TABLES)[number], string>

/** What differs between sites: names of objects, hashes, ids and times. Slugs are added. */
const OBJECT = '[0-9a-f]{4}-[0-9a-z]{8}-[0-9a-f]{12}(?:h[0-9a-f]{12})?(?:\\.[0-9a-f]{8})?'
const HASH = '[0-9a-f]{64}'
const ID = '[0-9a-hjkmnp-tv-z]{26}'
const TIME = '\\d{13}'

const MAX_CHUNK_LENGTH = 1 << 20

/** The rows that a service has written, in the text format of COPY. */
export async function readTables(url: string): Promise<Tables> {
  const read = async (table: string) => {
    const { stdout } = await promisify(execFile)(program('psql')!, [url, '-c', `copy ${table} to stdout`])
    return [table, stdout]
  }
  return Object.fromEntries(await Promise.all(SITE_TABLES.map(read))) as Tables
}

interface CopyOptions {
  tables: Tables
  /** The slugs in the tables. */
  slugs: readonly string[]
  copies: number
  /** Between the times of a copy and the next one; the last one has the times of the tables. */
  intervalMs: number
}

/**
 * Adds copies of all rows with COPY, in the order in which they would have been published. Each copy has slugs, ids,
 * hashes and objects of its own.
 */
export async function copyRows(
  url: string,
  { tables, slugs, copies, intervalMs }: CopyOptions,
): Promise<void> {
  const pattern = new RegExp(`\\b(${[...slugs, OBJECT, HASH, ID, TIME].join('|')})\\b`)
  const found = SITE_TABLES.flatMap((table) => tables[table].split(pattern).filter((_, index) => index % 2))
  const texts = [...new Set(found)]
  const numbers = new Map(texts.map((text, number) => [text, number]))
  const targets = SITE_TABLES.map((table) => ({
    parts: tables[table].split(pattern).map((part, index) => (index % 2 ? numbers.get(part)! : part)),
    copy: startCopy(url, table),
  }))
  for (let left = copies - 1; left >= 0; left--) {
    const values = createValues(texts, { slugs, shiftMs: left * intervalMs })
    for (const { parts, copy } of targets) {
      let text = ''
      for (const part of parts) text += typeof part === 'number' ? values[part] : part
      await copy.write(text)
    }
  }
  await Promise.all(targets.map(({ copy }) => copy.end()))
}

/** Texts of the same kinds, with times that are earlier by `shiftMs`. */
function createValues(
  texts: readonly string[],
  { slugs, shiftMs }: { slugs: readonly string[]; shiftMs: number },
): string[] {
  const random = randomBytes(32 * texts.length).toString('hex')
  const hashes = texts.map((_, number) => random.slice(64 * number, 64 * (number + 1)))
  return texts.map((text, number) => {
    if (slugs.includes(text)) return newSlug()
    if (/^\d{13}$/.test(text)) return String(Number(text) - shiftMs)
    if (text.length === 64) return hashes[number]!
    if (text.length === 26 && !text.includes('-')) return newId(decodeTime(text.slice(0, 10)) - shiftMs)
    const prefix = objectHashPrefix(text)
    const content = prefix === undefined ? -1 : texts.findIndex((hash) => hash.startsWith(prefix))
    return createObjectName(Date.now() - shiftMs, content < 0 ? {} : { hash: hashes[content]! })
  })
}

/** A COPY into a table; `write` waits while the server has not read what was written. */
function startCopy(url: string, table: string) {
  const psql = spawn(program('psql')!, [url, '-qc', `copy ${table} from stdin`], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const ended = once(psql, 'exit')
  let chunk = ''
  const flush = async () => {
    const isFull = !psql.stdin.write(chunk)
    chunk = ''
    if (isFull) await Promise.race([once(psql.stdin, 'drain'), ended])
  }
  return {
    async write(text: string): Promise<void> {
      chunk += text
      if (chunk.length > MAX_CHUNK_LENGTH) await flush()
    },
    async end(): Promise<void> {
      psql.stdin.end(chunk)
      const [code] = await ended
      if (code !== 0) throw new Error(`psql exited with ${code} while copying into ${table}`)
    },
  }
}
