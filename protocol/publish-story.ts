import type { PublishWarning } from './api/publish.schema.ts'
import { pluralize, stripControlChars } from './format.ts'
import { type Exclusion, listPaths, type SkipReason } from './ignore/exclusions.ts'

/** What a publish has led to, for the person who published. */
export interface PublishStory {
  /** The title of the site, or of its start page. */
  title?: string | null | undefined
  excluded?: readonly Exclusion[] | undefined
  warnings?: readonly PublishWarning[] | undefined
  /** What was guessed about the files, in sentences. */
  notes?: readonly string[] | undefined
  /** A free name that is like the title. */
  suggestedName?: string | undefined
  /** When the site expires, as text. */
  expires?: string | undefined
  /** How to keep a site without an owner. */
  keep?: string | undefined
  /** How to publish its next version. */
  update?: string | undefined
}

/** The words, a line for each fact, in which every way to publish without a page says what it has led to. */
export function describePublish({
  title,
  excluded = [],
  warnings = [],
  notes = [],
  suggestedName,
  expires,
  keep,
  update,
}: PublishStory): string[] {
  const skipped = describeSkipped(excluded)
  return [
    ...(title ? [`Title: ${title}`] : []),
    ...(skipped === undefined ? [] : [skipped]),
    ...notes,
    ...warnings.map((warning) => `Warning: ${describeWarning(warning)}`),
    ...(suggestedName === undefined ? [] : [`Available name: ${suggestedName}`]),
    ...(expires === undefined ? [] : [`Expires: ${expires}`]),
    ...(keep === undefined ? [] : [`Keep it: ${keep}`]),
    ...(update === undefined ? [] : [`Update it: ${update}`]),
  ].map(stripControlChars)
}

/** "_redirects:1: message" */
export function describeWarning({ file, line, message }: PublishWarning): string {
  return `${line === undefined ? file : `${file}:${line}`}: ${message}`
}

/** "Skipped 2 files: .env (secret), .git/ (version control)", with the first paths or all of them; undefined when there are none. */
export function describeSkipped(excluded: readonly Exclusion[], all = false): string | undefined {
  if (excluded.length === 0) return undefined
  return `Skipped ${pluralize(excluded.length, 'file')}: ${listPaths(excluded.map(describeExclusion), all)}`
}

/** ".env (secret)" */
export function describeExclusion({ path, reason }: Exclusion): string {
  return `${stripControlChars(path)} (${SKIP_REASONS[reason]})`
}

const SKIP_REASONS: Record<SkipReason, string> = {
  dotfile: 'hidden',
  secret: 'secret',
  dependencies: 'dependencies',
  system: 'system file',
  repository: 'version control',
  ignored: '.slipwayignore',
  link: 'link to a file that is not published',
  special: 'special file',
}
