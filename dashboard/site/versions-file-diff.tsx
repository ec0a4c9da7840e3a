import { useEffect, useState } from 'preact/hooks'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { formatBytes, formatNumber, pluralize, truncate } from '../../protocol/format.ts'
import { type DisplayError, toDisplayError } from '../api/display-error.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { Pacer } from '../thumbnail/pacer.ts'
import { type DiffLine, diffLines } from './line-diff.ts'
import { ownerPictureUrl } from './picture-address.ts'
import { readFile } from './read-file.ts'

/** Bounds of a text that is compared by lines, in bytes, and of what is shown of it. */
const MAX_TEXT_BYTES = 512_000
const MAX_SHOWN_LINES = 2_000
const MAX_LINE_LENGTH = 1_000

/** Unchanged lines around a change. */
const CONTEXT_LINES = 3

const TEXT = /^text\/|[/+](?:json5?|xml|ya?ml|toml|sql|(?:java|ecma)script|manifest\+json)\b/i
const IMAGE = /^image\//i

/** A file in one of the versions. */
export interface VersionFile extends FileEntry {
  versionId: string
}

interface FileDiffProps {
  site: SiteDetails
  before: VersionFile | undefined
  after: VersionFile | undefined
}

/** The differences of one file: lines of a text, pictures side by side, else its sizes. */
export function FileDiff(props: FileDiffProps) {
  const files = [props.before, props.after].filter((file) => file !== undefined)
  if (files.every(({ contentType }) => IMAGE.test(contentType))) return <Pictures {...props} />
  if (!files.every(({ contentType }) => TEXT.test(contentType)))
    return <p class="quiet small">This file isn't text.</p>
  if (files.some(({ size }) => size > MAX_TEXT_BYTES))
    return <p class="quiet small">Texts of more than {formatBytes(MAX_TEXT_BYTES)} are not compared.</p>
  return <TextDiff {...props} />
}

function Pictures({ site, before, after }: FileDiffProps) {
  return (
    <div class="compared-pictures">
      {[before, after].map(
        (file, index) =>
          file && (
            <figure key={file.versionId}>
              <img
                src={`${ownerPictureUrl(site, file)}?versionId=${file.versionId}`}
                alt={`${file.path}, ${index === 0 ? 'before' : 'after'}`}
                loading="lazy"
              />
              <figcaption class="quiet small">{index === 0 ? 'Before' : 'After'}</figcaption>
            </figure>
          ),
      )}
    </div>
  )
}

function TextDiff({ site, before, after }: FileDiffProps) {
  const [lines, show] = useState<DiffLine[] | undefined>(undefined)
  const [error, fail] = useState<DisplayError | undefined>(undefined)
  useEffect(() => {
    let isShown = true
    const pacer = new Pacer()
    const read = async (file: VersionFile | undefined) =>
      file === undefined || file.size === 0
        ? ''
        : (await readFile(site.slug, file.path, file.versionId)).text()
    Promise.all([read(before), read(after)])
      .then(([old, now]) => diffLines(old, now, () => pacer.pause()))
      .then(
        (found) => isShown && show(found),
        (reason) => isShown && fail(toDisplayError(reason)),
      )
    return () => {
      isShown = false
    }
  }, [])
  if (error) return <ErrorNotice error={error} />
  if (!lines) return <Loading what="the texts" />
  return <Lines lines={lines} />
}

function Lines({ lines }: { lines: readonly DiffLine[] }) {
  const hunks = toHunks(lines)
  if (hunks.length === 0) return <p class="quiet small">The lines are equal.</p>
  let left = MAX_SHOWN_LINES
  return (
    <div class="diff">
      {hunks.map((hunk, index) => {
        const shown = hunk.lines.slice(0, Math.max(0, left))
        left -= hunk.lines.length
        if (shown.length === 0) return null
        return (
          <div key={index}>
            {hunk.gap > 0 && <p class="quiet small">{pluralize(hunk.gap, 'unchanged line')}</p>}
            {shown.map((line, at) => (
              <Line key={at} line={line} />
            ))}
          </div>
        )
      })}
      {left < 0 && <p class="quiet small">Only the first {formatNumber(MAX_SHOWN_LINES)} lines are shown.</p>}
    </div>
  )
}

function Line({ line: { kind, text } }: { line: DiffLine }) {
  const shown = truncate(text, MAX_LINE_LENGTH, '…')
  if (kind === 'added') return <ins>{`+ ${shown}`}</ins>
  if (kind === 'removed') return <del>{`- ${shown}`}</del>
  return <span>{`  ${shown}`}</span>
}

interface Hunk {
  /** Unchanged lines before it that are not shown. */
  gap: number
  lines: DiffLine[]
}

/** The changed lines with some around them. */
function toHunks(lines: readonly DiffLine[]): Hunk[] {
  const near = new Uint8Array(lines.length)
  for (const [at, { kind }] of lines.entries())
    if (kind !== 'same') near.fill(1, Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1)
  const hunks: Hunk[] = []
  let gap = 0
  for (const [at, line] of lines.entries()) {
    if (near[at] === 0) gap++
    else if (at > 0 && near[at - 1] === 1) hunks.at(-1)!.lines.push(line)
    else {
      hunks.push({ gap, lines: [line] })
      gap = 0
    }
  }
  return hunks
}
