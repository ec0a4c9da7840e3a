import { relative } from 'node:path'
import type { CreatedReviewLink } from '../../protocol/api/reviews.schema.ts'
import {
  formatBytes,
  formatDuration,
  formatFileCount,
  formatNumber,
  pluralize,
  shortId,
} from '../../protocol/format.ts'
import type { Exclusion } from '../../protocol/ignore/exclusions.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { describePublish } from '../../protocol/publish-story.ts'
import type { HashedFile } from '../sdk/folder/digest.ts'
import type { ResumableResult } from '../sdk/resume.ts'
import { siteArgument } from './account.ts'
import { type CommandContext, type OptionValues, printResult } from './command.ts'
import type { PublishObserver, PublishPlan } from './publish-target.ts'
import { quoteArgument } from './quote-argument.ts'
import { ProgressView } from './terminal/progress.ts'
import { formatLocalTime } from './terminal/time.ts'
import { printWarnings } from './warnings.ts'

type ReportDeps = Pick<CommandContext, 'terminal' | 'retryPolicy' | 'settings' | 'siteMemory' | 'cwd'>

/** Reports progress of a publish. */
export function progressObserver(
  { terminal, retryPolicy }: ReportDeps,
  { server }: PublishPlan,
  files: HashedFile[],
): PublishObserver {
  const view = new ProgressView(terminal, 'Uploading', retryPolicy.now)
  const sizes = new Map(files.map((file) => [file.path, file.size]))
  return {
    onProgress: (progress) => view.show(progress),
    onRetry: (reason) => view.stall(reason.message),
    onStaged({ upload: { uploads } }, resumed) {
      const there = files.length - uploads.length
      if (resumed && there > 0)
        terminal.printNote(
          `Resuming: ${formatNumber(there)} of ${pluralize(files.length, 'file')} already uploaded.`,
        )
      if (terminal.live || uploads.length === 0) return
      const bytes = uploads.reduce((sum, { path }) => sum + (sizes.get(path) ?? 0), 0)
      terminal.printNote(
        `Uploading ${pluralize(uploads.length, 'file')} (${formatBytes(bytes)}) to ${server}`,
      )
    },
  }
}

interface PublishSummary extends ResumableResult {
  files: HashedFile[]
  /** The files were added to those of the site. */
  merged: boolean
  live: boolean
  /** What was left out of the folder. */
  skipped: readonly Exclusion[]
  /** The state of this folder has the site, as that of the published folder. */
  remembered: boolean
  server: string
  /** The published folder. */
  folder: string
  /** Start in milliseconds. */
  startedAt: number
  /** With which others review it. */
  review?: CreatedReviewLink | undefined
}

/** Prints the result of a publish: only the address on stdout, everything else on stderr. */
export function report(work: ReportDeps, summary: PublishSummary, options: OptionValues): void {
  const { terminal, retryPolicy } = work
  const { published, files, merged, live } = summary
  const { preview } = published
  const elapsed = (retryPolicy.now() - summary.startedAt) / 1000
  const done = merged ? 'Merged' : live || preview ? 'Published' : 'Saved draft of'
  const result = published.unchanged
    ? `No changes. ${preview ? `${preview.name} is up to date.` : 'Already live.'}`
    : `${done} ${formatFileCount(files)}${describeMerge(summary)}${preview ? ` as ${preview.name}` : ''} in ${elapsed.toFixed(1)} s${describeUpload(summary)}`
  terminal.printDone(result)
  if (published.unchanged && options.message !== undefined)
    terminal.printNote('The message was not stored: it belongs to a version, and there is no new one.')
  printWarnings(terminal, published)
  if (isReplaced(summary)) terminal.printNote('Another version has gone live since.')
  const address = publishedUrl(summary, live)
  printResult({ terminal }, options, toJson(summary), () => terminal.print(address))
  if (summary.review) {
    const { url, expiresAt } = summary.review
    terminal.printNote(
      `Review: ${url}${expiresAt === null ? '' : ` (until ${formatLocalTime(expiresAt, retryPolicy.now())})`}`,
    )
  }
  if (!live && (preview || !published.unchanged))
    terminal.printNote(`Make it live: ${suggestNextStep(work, summary)}`)
  for (const line of describeStory(work, summary)) terminal.printNote(line)
}

/** Whether a repeated request, because a response was lost, found another version live. */
function isReplaced({ live, published }: PublishSummary): boolean {
  return live && published.currentVersionId !== published.versionId
}

/** Where the result of a publish is. */
export function publishedUrl({ published }: Pick<ResumableResult, 'published'>, live: boolean): string {
  return live ? published.siteUrl : (published.preview?.url ?? published.previewUrl)
}

/** Only an owner can restore. */
function suggestNextStep(work: ReportDeps, summary: PublishSummary): string {
  const { published, site, server } = summary
  const { program } = work.settings
  const option = siteArgument(work, { slug: published.slug, server })
  if (published.preview) return `${program} promote ${quoteArgument(published.preview.name)}${option}`
  return site.claimToken === undefined
    ? `${program} restore ${quoteArgument(shortId(published.versionId))}${option}`
    : publishCommand(work, summary)
}

/** Without arguments, it publishes the folder that was published last. */
function publishCommand(
  { settings: { program, site }, cwd }: ReportDeps,
  { published, remembered, folder }: PublishSummary,
): string {
  const path = quoteArgument(relative(cwd, folder) || '.')
  const isKnown = remembered && site === undefined
  return isKnown ? `${program} publish` : `${program} publish ${path} --site ${quoteArgument(published.slug)}`
}

/** ": 1 added, 2 changed, 3 unchanged," */
function describeMerge({ published: { changes }, files, merged }: PublishSummary): string {
  if (!merged || !changes) return ''
  const { added, changed } = changes
  const counts = { added, changed, unchanged: files.length - added - changed }
  const shown = Object.entries(counts).filter(([, count]) => count > 0)
  return `: ${shown.map(([kind, count]) => `${formatNumber(count)} ${kind}`).join(', ')},`
}

/** Nothing when all files were uploaded. */
function describeUpload({ published, files }: PublishSummary): string {
  const { uploaded, uploadedBytes } = published
  if (uploaded === files.length) return ''
  return uploaded === 0
    ? ' (no uploads needed)'
    : ` (${formatNumber(uploaded)} uploaded, ${formatBytes(uploadedBytes)})`
}

function toJson(summary: PublishSummary) {
  const { published, site, files, skipped, review } = summary
  const { slug, siteUrl, versionId, previewUrl, preview, unchanged, changes, warnings } = published
  const { title, suggestedName } = published
  const { claimUrl, expiresAt = published.expiresAt } = site
  const bytes = sumSizes(files)
  const live = summary.live && !isReplaced(summary)
  const about = { slug, siteUrl, title, versionId, previewUrl, live, files: files.length, bytes }
  const others = { suggestedName, claimUrl, expiresAt, reviewUrl: review?.url, warnings, skipped }
  return { ...about, preview, unchanged, changes, ...others }
}

function describeStory(work: ReportDeps, summary: PublishSummary): string[] {
  const { published, site, live, remembered, server } = summary
  const { slug, title, suggestedName } = published
  const isFirst = live && published.previousVersionId === null && !published.unchanged
  const expiresAt = published.preview?.expiresAt ?? site.expiresAt ?? published.expiresAt
  const isOwned = site.claimToken === undefined
  const name = suggestedName === undefined ? '' : ` --name ${quoteArgument(suggestedName)}`
  const link = site.claimUrl === undefined ? [] : [`open ${site.claimUrl}`]
  const claim = `${work.settings.program} claim${name}${siteArgument(work, { slug, server })}`
  return describePublish({
    title,
    suggestedName,
    expires: expiresAt === undefined ? undefined : describeExpiry(expiresAt, work.retryPolicy.now()),
    keep: isOwned ? undefined : [...(remembered ? [claim] : []), ...link].join(', or '),
    update: isFirst && (isOwned || remembered) ? publishCommand(work, summary) : undefined,
  })
}

/** "in 24 hours (27 Nov, 11:35)" */
function describeExpiry(expiresAt: string, now: number): string {
  const left = formatDuration((Date.parse(expiresAt) - now) / 1000)
  return `in ${left} (${formatLocalTime(expiresAt, now)})`
}
