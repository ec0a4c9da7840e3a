import type { FinalizeResponse, PublishWarning } from '../../protocol/api/publish.ts'
import {
  formatBytes,
  formatDuration,
  formatFileCount,
  formatNumber,
  formatUtc,
  pluralize,
  stripControlChars,
} from '../../protocol/format.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import type { ResumableResult } from '../sdk/resume.ts'
import type { CommandContext, OptionValues } from './command.ts'
import type { HashedFile } from './folder/digest.ts'
import type { PublishObserver, PublishPlan } from './publish-target.ts'
import { ProgressView } from './terminal/progress.ts'
import type { Terminal } from './terminal/terminal.ts'

type ReportDeps = Pick<CommandContext, 'terminal' | 'retryPolicy' | 'settings'>

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
    onRetry: (reason) => view.stall(stripControlChars(reason.message)),
    onStaged({ upload: { uploads } }, resumed) {
      const there = files.length - uploads.length
      if (resumed && there > 0)
        terminal.printNote(
          `Going on where it was: ${pluralize(there, 'file')} of ${formatNumber(files.length)} are there.`,
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
  signedIn: boolean
  /** Start in milliseconds. */
  startedAt: number
}

/** Prints the result of a publish: only the address on stdout, everything else on stderr. */
export function report(
  { terminal, retryPolicy, settings }: ReportDeps,
  summary: PublishSummary,
  options: OptionValues,
): void {
  const { published, files, merged, live } = summary
  const { program } = settings
  const elapsed = (retryPolicy.now() - summary.startedAt) / 1000
  const done = !live ? 'Kept as a draft:' : merged ? 'Added' : 'Published'
  terminal.printNote(
    published.unchanged
      ? `${terminal.green('✓')} No changes: ${published.siteUrl} is already live.`
      : `${terminal.green('✓')} ${done} ${formatFileCount(files)} in ${elapsed.toFixed(1)} s; ${describeUpload(summary)}.`,
  )
  printWarnings(terminal, published)
  const address = live ? published.siteUrl : published.previewUrl
  terminal.print(options.json === true ? JSON.stringify(toJson(summary), undefined, 2) : address)
  if (!live && !published.unchanged)
    terminal.printNote(`To make it live: ${suggestNextStep(summary, program)}`)
  for (const line of describeExpiry(summary, program, retryPolicy.now())) terminal.printNote(line)
}

/** Prints the warnings of a version. */
export function printWarnings(
  terminal: Terminal,
  { warnings = [] }: Pick<FinalizeResponse, 'warnings'>,
): void {
  for (const warning of warnings) terminal.printNote(`Careful: ${stripControlChars(formatWarning(warning))}`)
}

/** Only an owner can restore. */
function suggestNextStep({ published, site }: PublishSummary, program: string): string {
  return site.claimToken === undefined
    ? `${program} restore ${published.versionId}`
    : `publish it again without --draft`
}

function describeUpload({ published, files }: PublishSummary): string {
  if (published.uploaded === 0) return 'everything was there already'
  if (published.uploaded === files.length) return 'all of it uploaded'
  return `${pluralize(published.uploaded, 'file')} (${formatBytes(published.uploadedBytes)}) uploaded, the rest was there already`
}

function formatWarning({ file, line, message }: PublishWarning): string {
  return `${line === undefined ? file : `${file}:${line}`}: ${message}`
}

function toJson({ published, site, files, live }: PublishSummary) {
  const { slug, siteUrl, versionId, previewUrl, unchanged, warnings } = published
  const { claimUrl, expiresAt } = site
  const bytes = sumSizes(files)
  const about = { slug, siteUrl, versionId, previewUrl, live, files: files.length, bytes }
  return { ...about, unchanged, claimUrl, expiresAt, warnings }
}

function describeExpiry({ site, signedIn }: PublishSummary, program: string, now: number): string[] {
  if (site.claimToken === undefined) return []
  const lines: string[] = []
  if (site.expiresAt !== undefined) {
    const left = (Date.parse(site.expiresAt) - now) / 1000
    lines.push(`It has no owner and is gone in ${formatDuration(left)}, at ${formatUtc(site.expiresAt)}.`)
  }
  if (site.claimUrl !== undefined) lines.push(`To keep it, open ${site.claimUrl}`)
  lines.push(`${signedIn ? 'or, since you are signed in' : 'or'}: ${program} claim`)
  return lines
}
