import { formatBytes, formatFileCount, pluralize } from '../../protocol/format.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { diffManifests } from '../../protocol/manifest/manifest-diff.ts'
import type { FolderScan } from '../sdk/folder/scan.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { type CommandContext, type OptionValues, printResult } from './command.ts'
import { indexNotices, readFiles, skippedFiles } from './folder/read-site.ts'
import type { PublishPlan } from './publish-target.ts'
import { formatDiff } from './version-conflict.ts'

/**
 * Prints what a publish would upload, add, change, remove and leave out, and why. Sends nothing
 * about a new site and about one without an owner, whose versions cannot be read.
 */
export async function printDryRun(
  work: CommandContext,
  options: OptionValues,
  plan: PublishPlan,
  found: FolderScan,
): Promise<void> {
  const { terminal } = work
  const files = found.files.map(({ path, size }) => ({ path, size }))
  const compared = await compareWithLive(work, plan, found)
  const json = { files, bytes: sumSizes(files), skipped: found.excluded, ...compared }
  printResult(work, options, json, () => {
    for (const file of files) terminal.print(file.path)
  })
  for (const line of [...skippedFiles(found, true), ...indexNotices(found)]) terminal.printNote(line)
  terminal.printNote(`${formatFileCount(files)} would be published.`)
  if (compared === undefined) return
  const { upload } = compared
  terminal.printNote(
    `${pluralize(upload.length, 'file')} (${formatBytes(sumSizes(upload))}) would be uploaded.`,
  )
  for (const line of formatDiff(compared, true)) terminal.printNote(line)
}

/** The differences from the live version of the site, if it can be read. */
async function compareWithLive(work: CommandContext, plan: PublishPlan, found: FolderScan) {
  const { server, key, remembered, mode } = plan
  const slug = plan.slug ?? remembered?.slug
  if (slug === undefined || key === undefined || remembered?.claimToken !== undefined) return undefined
  const slipway = work.connect(server, key)
  const site = await slipway.details(slug).catch((error: unknown) => {
    if (plan.create && isSlipwayError(error, 'NOT_FOUND')) return undefined
    throw error
  })
  const currentVersionId = site?.currentVersionId ?? null
  if (currentVersionId === null) return undefined
  const [live, files] = await Promise.all([
    slipway.version(slug, currentVersionId),
    readFiles(work, found.files),
  ])
  const present = new Set(live.files.map(({ hash }) => hash))
  const upload = files
    .filter(({ hash, size }) => size > 0 && !present.has(hash))
    .map(({ path, size }) => ({ path, size }))
  const { added, changed, removed } = diffManifests(live.files, files)
  return {
    slug,
    versionId: currentVersionId,
    upload,
    added,
    changed,
    removed: mode === 'merge' ? [] : removed,
  }
}
