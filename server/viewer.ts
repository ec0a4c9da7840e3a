import type { FileEntry, MetadataRequest, Viewer } from '../client/wire.ts'
import type { Problem } from './failure.ts'
import type { SiteRow } from './store/schema.ts'

const YEAR_SECONDS = 31_536_000

/** What is wrong with `title`, `description`, `ogImagePath`, `spaMode`, `ttlSeconds`; `prefix` is 'viewer.' or ''. */
export function viewerProblems(viewer: Viewer, prefix: string): Problem[] {
  const problems: Problem[] = []
  const check = (field: keyof Viewer, broken: boolean, message: string) => {
    if (viewer[field] !== undefined && viewer[field] !== null && broken) {
      problems.push({ field: prefix + field, message })
    }
  }
  const long = (value: unknown, most: number) => typeof value !== 'string' || [...value].length > most
  check('title', long(viewer.title, 200), 'must be a string of at most 200 characters, or null')
  check('description', long(viewer.description, 500), 'must be a string of at most 500 characters, or null')
  check(
    'ogImagePath',
    typeof viewer.ogImagePath !== 'string',
    'must be the path of an image in the manifest, or null',
  )
  check('spaMode', typeof viewer.spaMode !== 'boolean', 'must be true or false')
  const seconds = viewer.ttlSeconds
  const outside = !Number.isInteger(seconds) || Number(seconds) < 60 || Number(seconds) > YEAR_SECONDS
  check(
    'ttlSeconds',
    outside,
    `must be a whole number of seconds from 60 to ${YEAR_SECONDS} (a year), or null`,
  )
  return problems
}

/** Whether the manifest has an image of that path. */
export function hasImage(files: readonly FileEntry[], path: string): boolean {
  return files.some((file) => file.path === path && /^image\//i.test(file.contentType))
}

/** What to say when `ogImagePath` names no image of the manifest. */
export function notAnImage(field: string, path: string): Problem {
  return { field, message: `must name an image in the manifest; '${path}' is none` }
}

/** The columns that a publish or a metadata change sets; what is absent stays out. */
export function viewerColumns(viewer: MetadataRequest, now: number): Partial<SiteRow> {
  const { title, description, ogImagePath, spaMode, ttlSeconds } = viewer
  return {
    ...(title === undefined ? {} : { title: title || null }),
    ...(description === undefined ? {} : { description: description || null }),
    ...(ogImagePath === undefined ? {} : { og_image_path: ogImagePath || null }),
    ...(spaMode === undefined ? {} : { spa_mode: spaMode ? 1 : 0 }),
    ...(ttlSeconds === undefined ? {} : { expires_at: ttlSeconds === null ? null : now + ttlSeconds * 1000 }),
  }
}
