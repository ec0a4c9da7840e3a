import type { VersionDetails } from '../../protocol/api/sites.ts'
import { formatNumber, stripControlChars } from '../../protocol/format.ts'
import { diffManifests, type ManifestDiff } from '../../protocol/manifest/manifest-diff.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { isSlipwayError, type SlipwayError } from '../sdk/slipway-error.ts'
import { ConflictError, RefusedError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import type { HashedFile } from './folder/digest.ts'
import { listPaths } from './folder/read-site.ts'
import type { PublishPlan } from './publish-target.ts'
import { choose } from './terminal/choose.ts'
import { formatLocalTime } from './terminal/time.ts'
import { formatAuthor } from './versions.ts'

/** How a publish continues after a conflict. */
export type ConflictResolution = Pick<PublishPlan, 'baseVersionId'> | Pick<PublishPlan, 'mode'>

/**
 * How to continue when the live version is not the one that was last seen from this folder: on top of the live one when
 * this folder published it, or when it has the same files. Otherwise shows who published it, when, and what changed, and
 * asks on a terminal; without one throws a ConflictError, and on cancel a RefusedError.
 */
export async function resolveConflict(
  work: CommandContext,
  plan: PublishPlan,
  files: readonly HashedFile[],
  error: SlipwayError,
): Promise<ConflictResolution> {
  const { currentVersionId } = (error.details ?? {}) as { currentVersionId?: string | null }
  if (!currentVersionId) throw error
  const { server, key, folder } = plan
  const known = work.siteMemory.find(folder, server) ?? plan.remembered
  if (plan.remembered?.pending?.versionId === currentVersionId) return { baseVersionId: currentVersionId }
  const slug = plan.slug ?? known?.slug
  const isOwned = key !== undefined && slug !== undefined && known?.claimToken === undefined
  const live = isOwned ? await findVersion(work.connect(server, key), slug, currentVersionId) : undefined
  if (live && isSame(diffManifests(live.files, files))) return { baseVersionId: currentVersionId }
  const changes = live && (await changesSince(work.connect(server, key), slug!, plan.baseVersionId!, live))
  const situation = `Another version of ${stripControlChars(known?.siteUrl ?? slug!)} is live`
  const details = describe(live, changes, work.retryPolicy.now())
  if (!work.terminal.interactive) {
    const json = { currentVersionId, ...(live && { live: summarize(live), ...changes }) }
    throw new ConflictError(situation, json, [...details, ...nextSteps(work.settings.program)])
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

async function findVersion(slipway: Slipway, slug: string, id: string): Promise<VersionDetails | undefined> {
  try {
    return await slipway.version(slug, id)
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
  const base = await findVersion(slipway, slug, baseVersionId)
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
    stripControlChars(message ? `${by}: ${message}` : by),
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

function nextSteps(program: string): string[] {
  return [
    `To overwrite that version: ${program} publish --overwrite`,
    `To add your files to it: ${program} publish --merge`,
    `To download it: ${program} pull`,
  ]
}
