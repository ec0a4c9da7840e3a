import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './root.mjs'

// `node scripts/media-types.ts` writes the table of media types that client and server share, after an update of mime-db.

/** What mime-db records of a type. */
interface MediaTypeFacts {
  charset?: string
  compressible?: boolean
  extensions?: string[]
}

const require = createRequire(import.meta.url)

export const mimeDb = require('mime-db') as Record<string, MediaTypeFacts>

/** The type of each extension: where mime-db lists several, the one that mime-types prefers. */
export const { types: TYPES_BY_EXTENSION } = require('mime-types') as { types: Record<string, string> }

export const TABLE_FILE = join(root, 'protocol/manifest/media-type-table.ts')

/** The source of the table: for each top-level type its subtypes, one a line, with their extensions. */
export function renderTable(): string {
  const lines: string[] = []
  const byType = Map.groupBy(
    Object.keys(TYPES_BY_EXTENSION).sort(),
    (extension) => TYPES_BY_EXTENSION[extension]!,
  )
  let group = ''
  for (const type of [...byType.keys()].sort()) {
    const [top = '', subtype] = type.split('/')
    if (top !== group) lines.push(top)
    group = top
    const isUtf8 = top !== 'text' && mimeDb[type]!.charset === 'UTF-8'
    lines.push(` ${subtype}${isUtf8 ? '*' : ''} ${byType.get(type)!.join(' ')}`)
  }
  return `// Written by scripts/media-types.ts.

/**
 * The media types of mime-db with their extensions: below each top-level type its subtypes. A star marks types other than
 * text whose charset is UTF-8.
 */
export const MEDIA_TYPE_TABLE: string = \`
${lines.join('\n')}\`
`
}

if (import.meta.main) writeFileSync(TABLE_FILE, renderTable())
