import type { VersionDetails } from '../../protocol/api/versions.schema.ts'
import { formatNumber, shortId } from '../../protocol/format.ts'
import { listPaths } from '../../protocol/ignore/exclusions.ts'
import { diffManifests, type ManifestDiff } from '../../protocol/manifest/manifest-diff.ts'
import type { HashedFile } from '../sdk/folder/digest.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { isSlipwayError, type SlipwayError } from '../sdk/slipway-error.ts'
import { siteArgument } from './account.ts'
import { ConflictError, RefusedError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { type PublishPlan, UNKNOWN_VERSION } from './publish-target.ts'
import { quoteArgument } from './quote-argument.ts'
import { describeSite } from './state/site-memory.ts'
import { choose } from './terminal/choose.ts'
import { formatLocalTime } from './terminal/time.ts'
import { formatAuthor } from './versions.ts'

/** How a publish continues after a conflict. */
export type ConflictResolution = Pick<PublishPlan, 'baseVersionId'> | Pick<PublishPlan, 'mode'>

/**
 * How to continue when the live version, or that of the preview, is not the one that was last seen from this folder: on
 * top of it when this folder published it, when it has the same files, or when the preview was deleted. Otherwise shows
 * who published it, when, and what changed, and asks on a terminal; without one, and later with `--watch`, throws a
 * ConflictError, and on cancel a RefusedError.
 */
export async function resolveConflict(
  work: CommandContext,
  plan: PublishPlan,
  files: readonly HashedFile[],
  error: SlipwayError,
): Promise<ConflictResolution> {
  const { currentVersionId } = (error.details ?? {}) as { currentVersionId?: string | null }
  const { server, key, folder, preview, asksOnConflict } = plan
  const known = (plan.slug === undefined && work.siteMemory.find(folder, server)) || plan.remembered
  const slug = plan.slug ?? known?.slug
  if (preview !== undefined && !(await unlessMissing(work.connect(server, key).preview(slug!, preview))))
    return { baseVersionId: currentVersionId ?? undefined }
  if (!currentVersionId && plan.baseVersionId === UNKNOWN_VERSION) return { baseVersionId: undefined }
  if (!currentVersionId) throw error
  if (plan.remembered?.pending?.versionId === currentVersionId) return { baseVersionId: currentVersionId }
  const isOwned = key !== undefined && slug !== undefined && known?.claimToken === undefined
  const live = isOwned
    ? await unlessMissing(work.connect(server, key).version(slug, currentVersionId))
    : undefined
  if (live && isSame(diffManifests(live.files, files))) return { baseVersionId: currentVersionId }
  const changes = live && (await changesSince(work.connect(server, key), slug!, plan.baseVersionId!, live))
  const site = describeSite({ slug: slug!, server })
  const situation =
    preview === undefined
      ? `Another version of ${site} is live`
      : `${preview} of ${site} shows another version`
  const details = describe(live, changes, work.retryPolicy.now())
  if (!work.terminal.interactive || !asksOnConflict) {
    const json = { currentVersionId, ...(live && { live: summarize(live), ...changes }) }
    throw new ConflictError(situation, json, [
      ...details,
      ...nextSteps(work, plan, { slug: slug!, currentVersionId }),
    ])
  }
  for (const line of [`${situation}.`, ...details]) work.terminal.printNote(line)
  return askHow(work, currentVersionId)
}

async function askHow({ terminal }: CommandContext, baseVersionId: string): Promise<ConflictResolution> {
  const chosen = await choose(terminal, 'Publish anyway?', [
    ['overwrite', 'Overwrite that version'],
    ['merge', 'Add the files to that version'],
    ['cancel', 'Cancel'],
  ])
  if (chosen === 'cancel') throw new RefusedError('Nothing was published')
  return chosen === 'merge' ? { mode: 'merge' } : { baseVersionId }
}

/** Undefined for NOT_FOUND. */
export async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (isSlipwayError(error, 'NOT_FOUND')) return undefined
    throw error
  }
}

/** The changes since a version; those of the live version alone when the earlier one is not kept. */
async function changesSince(
  slipway: Slipway,
  slug: string,
  baseVersionId: string,
  live: VersionDetails,
): Promise<ManifestDiff> {
  const { comparedWith, added, changed, removed } = live
  if (comparedWith === baseVersionId) return { added, changed, removed }
  const base = await unlessMissing(slipway.version(slug, baseVersionId))
  return base ? diffManifests(base.files, live.files) : { added, changed, removed }
}

function isSame({ added, changed, removed }: ManifestDiff): boolean {
  return added.length + changed.length + removed.length === 0
}

function summarize({ versionId, publishedBy, publishedWith, publishedAt, message }: VersionDetails) {
  return { versionId, publishedBy, publishedWith, publishedAt, message }
}

function describe(
  live: VersionDetails | undefined,
  changes: ManifestDiff | undefined,
  now: number,
): string[] {
  if (!live || !changes) return []
  const { publishedAt, createdAt, message } = live
  const by = `Published ${formatLocalTime(publishedAt ?? createdAt, now)} by ${formatAuthor(live)}`
  return [
    message ? `${by}: ${message}` : by,
    ...(isSame(changes) ? [] : ['Changes since the version that this folder last published or saw:']),
    ...formatDiff(changes),
  ]
}

/** One line for each kind of difference, with the first paths. */
export function formatDiff(changes: ManifestDiff, all = false): string[] {
  const kinds: [word: string, paths: string[]][] = [
    ['new', changes.added],
    ['changed', changes.changed],
    ['removed', changes.removed],
  ]
  return kinds.flatMap(([word, paths]) =>
    paths.length === 0 ? [] : `  ${formatNumber(paths.length)} ${word}: ${listPaths(paths, all)}`,
  )
}

function nextSteps(
  work: CommandContext,
  { preview, folder, server }: PublishPlan,
  { slug, currentVersionId }: { slug: string; currentVersionId: string },
): string[] {
  // Not into the published folder.
  const beside = folder === work.cwd ? ` ${quoteArgument(`../${slug}`)}` : ''
  const version = preview === undefined ? '' : ` --version ${quoteArgument(shortId(currentVersionId))}`
  // Without the folder and the other options, the whole command would publish another folder.
  return [
    'To overwrite that version: --overwrite',
    'To add your files to it: --merge',
    `To download it: ${work.settings.program} pull${beside}${version}${siteArgument(work, { slug, server })}`,
  ]
}
