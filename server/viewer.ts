import type { FileEntry, MetadataRequest, Viewer } from '../client/wire.ts'
import type { Problem } from './failure.ts'
import type { SiteRow } from './store/schema.ts'

export const MOST_TITLE_CHARACTERS = 200
export const MOST_DESCRIPTION_CHARACTERS = 500

/** A minute, and a year. */
export const TIME_TO_LIVE = { least: 60, most: 31_536_000 }

/** What is wrong with `title`, `description`, `ogImagePath`, `spaMode`, `ttlSeconds`; `prefix` is 'viewer.' or ''. */
export function viewerProblems(viewer: Viewer, prefix: string): Problem[] {
  const problems: Problem[] = []
  const check = (field: keyof Viewer, broken: boolean, message: string) => {
    if (viewer[field] !== undefined && viewer[field] !== null && broken) {
      problems.push({ field: prefix + field, message })
    }
  }
  const checkText = (field: 'title' | 'description', most: number) => {
    const text: unknown = viewer[field]
    const broken = typeof text !== 'string' || [...text].length > most
    check(field, broken, `must be a string of at most ${most} characters, or null`)
  }
  checkText('title', MOST_TITLE_CHARACTERS)
  checkText('description', MOST_DESCRIPTION_CHARACTERS)
  check(
    'ogImagePath',
    typeof viewer.ogImagePath !== 'string',
    'must be the path of an image in the manifest, or null',
  )
  check('spaMode', typeof viewer.spaMode !== 'boolean', 'must be true or false')
  const seconds = viewer.ttlSeconds
  const { least, most } = TIME_TO_LIVE
  const outside = !Number.isInteger(seconds) || Number(seconds) < least || Number(seconds) > most
  check('ttlSeconds', outside, `must be a whole number of seconds from ${least} to ${most} (a year), or null`)
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
