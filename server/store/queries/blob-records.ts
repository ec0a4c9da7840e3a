import { type RawBuilder, sql } from '#kysely'
import type { BlobLocation } from '../../blobs/blobs.ts'
import { ENCODINGS, type Encoding } from '../../blobs/encoding.ts'
import type { Schema } from '../schema.ts'
import type { BlobEncodings, BlobRecord, BlobRecords, EncodingLocations } from '../tables/blobs.ts'

const COLUMNS = [
  'blobs.hash',
  'blobs.object',
  'blobs.size',
  'blobs.pieces_hash',
  'blobs.damaged_object',
  'encodings.hash',
  'encodings.br',
  'encodings.zstd',
  'encodings.gzip',
  'encodings.object',
  'encodings.locations',
  'blocks.value',
  'blocks.expires_at',
] as const

export const JOINED_WITH_BLOBS: RawBuilder<unknown> = sql`
  left join encodings on encodings.hash = blobs.hash
  left join blocks on blocks.kind = 'hash' and blocks.value = blobs.hash`

type Values = Record<(typeof COLUMNS)[number], string | null>

/** '' for NULL. */
const VALUES = COLUMNS.map((column) => sql`coalesce(cast(${sql.ref(column)} as text), '')`)

/** A blob with its encodings, of which there may be none, as a line of text. No value contains a space. */
export const BLOB_RECORD: RawBuilder<string> = sql`concat_ws(' ', ${sql.join(VALUES)})`

/** The lines of several blobs. SQLite needs three times as long for an array of JSON. */
export const BLOB_RECORDS: RawBuilder<string | null> = sql`string_agg(${BLOB_RECORD}, ${sql.lit('\n')})`

export class BlobRecordLines implements BlobRecords {
  readonly #lines: ReadonlyMap<string, string>

  constructor(text: string | null) {
    const lines = text === null ? [] : text.split('\n')
    this.#lines = new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), line]))
  }

  get(hash: string): UnreadBlobRecord | undefined {
    const line = this.#lines.get(hash)
    return line === undefined ? undefined : new UnreadBlobRecord(line)
  }
}

/** Of a site with many files, few are visited. */
class UnreadBlobRecord {
  readonly #line: string

  constructor(line: string) {
    this.#line = line
  }

  read(): BlobRecord {
    return parseBlobRecord(this.#line)
  }
}

export function parseBlobRecord(line: string): BlobRecord {
  const values = line.split(' ')
  const row = Object.fromEntries(COLUMNS.map((column, index) => [column, values[index] || null])) as Values
  const hash = row['blobs.hash']!
  const [object, pieces_hash] = [row['blobs.object'], row['blobs.pieces_hash']]
  const stored = { hash, object, pieces_hash, damaged_object: row['blobs.damaged_object'] }
  const encodings = {
    hash,
    br: toNumber(row['encodings.br']),
    zstd: toNumber(row['encodings.zstd']),
    gzip: toNumber(row['encodings.gzip']),
    object: row['encodings.object'],
    locations: row['encodings.locations'],
  }
  return {
    hash,
    location: toLocation({ ...stored, size: Number(row['blobs.size']) }),
    encodings: row['encodings.hash'] === null ? null : toEncodingLocations(encodings),
    blockedUntil: row['blocks.value'] === null ? 0 : (toNumber(row['blocks.expires_at']) ?? Infinity),
  }
}

export function toLocation(
  row: Pick<Schema['blobs'], 'hash' | 'object' | 'size' | 'pieces_hash' | 'damaged_object'>,
): BlobLocation | null {
  const { hash, object, size, pieces_hash: piecesHash } = row
  if (object === null) return null
  const isDamaged = row.damaged_object === object
  return { hash, size, object, offset: 0, piecesHash, ...(isDamaged && { isDamaged }) }
}

function toNumber(value: string | null): number | null {
  return value === null ? null : Number(value)
}

/** What the column `locations` has of each encoding. */
type StoredLocations = Partial<Record<Encoding, { offset: number; hash: string; piecesHash?: string }>>

export function toEncodingRow({ hash, ...locations }: BlobEncodings): Schema['encodings'] {
  const { br, zstd, gzip } = locations
  const stored: StoredLocations = {}
  for (const encoding of ENCODINGS) {
    const location = locations[encoding]
    if (!location) continue
    const { offset, hash: own, piecesHash } = location
    stored[encoding] = { offset, hash: own, ...(piecesHash !== null && { piecesHash }) }
  }
  const object = (br ?? zstd ?? gzip)?.object ?? null
  const sizes = { br: br?.size ?? null, zstd: zstd?.size ?? null, gzip: gzip?.size ?? null }
  return { hash, ...sizes, object, locations: object === null ? null : JSON.stringify(stored) }
}

export function toEncodingLocations(row: Schema['encodings']): EncodingLocations {
  const stored = row.locations === null ? {} : (JSON.parse(row.locations) as StoredLocations)
  const toLocation = (encoding: Encoding): BlobLocation | null => {
    const [size, location] = [row[encoding], stored[encoding]]
    if (size === null || row.object === null || !location) return null
    return { object: row.object, size, piecesHash: null, ...location }
  }
  return { br: toLocation('br'), zstd: toLocation('zstd'), gzip: toLocation('gzip') }
}
