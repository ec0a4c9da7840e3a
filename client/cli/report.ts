import type { FinalizeAnswer, PublishWarning } from '../wire.ts'
import { count, figure, harmless, moment, size, span } from '../words.ts'
import type { Values, Workplace } from './command.ts'
import type { Order, Outcome, Watch } from './destination.ts'
import type { HashedFile } from './folder/digest.ts'
import { amount, total } from './folder/read-site.ts'
import { ProgressView } from './terminal/progress.ts'
import type { Terminal } from './terminal/terminal.ts'

type Setting = Pick<Workplace, 'terminal' | 'patience' | 'settings'>

/** Shows a publish while it goes on. */
export function watching({ terminal, patience }: Setting, { server }: Order, files: HashedFile[]): Watch {
  const view = new ProgressView(terminal, 'Uploading', patience.now)
  const sizes = new Map(files.map((file) => [file.path, file.size]))
  return {
    onProgress: (progress) => view.show(progress),
    onRetry: (reason) => view.stall(harmless(reason.message)),
    onStaged({ upload: { uploads } }, resumed) {
      const there = files.length - uploads.length
      if (resumed && there > 0)
        terminal.say(`Going on where it was: ${count(there, 'file')} of ${figure(files.length)} are there.`)
      if (terminal.live || uploads.length === 0) return
      const bytes = uploads.reduce((sum, { path }) => sum + (sizes.get(path) ?? 0), 0)
      terminal.say(`Uploading ${count(uploads.length, 'file')} (${size(bytes)}) to ${server}`)
    },
  }
}

interface Ending extends Outcome {
  files: HashedFile[]
  live: boolean
  signedIn: boolean
  /** When it began, in milliseconds. */
  began: number
}

/** Says how a publish ended: the address alone on stdout, all else on stderr. */
export function report({ terminal, patience, settings }: Setting, ending: Ending, options: Values): void {
  const { published, files, live } = ending
  const { program } = settings
  const elapsed = (patience.now() - ending.began) / 1000
  const done = live ? 'Published' : 'Kept as a draft:'
  terminal.say(
    `${terminal.green('✓')} ${done} ${amount(files)} in ${elapsed.toFixed(1)} s; ${uploaded(ending)}.`,
  )
  warn(terminal, published)
  const address = live ? published.siteUrl : published.previewUrl
  terminal.print(options.json === true ? JSON.stringify(summary(ending), undefined, 2) : address)
  if (!live) terminal.say(`To make it live: ${nextStep(ending, program)}`)
  for (const line of withoutOwner(ending, program, patience.now())) terminal.say(line)
}

/** Says what is odd in the files of a version. */
export function warn(terminal: Terminal, { warnings = [] }: Pick<FinalizeAnswer, 'warnings'>): void {
  for (const warning of warnings) terminal.say(`Careful: ${harmless(inWords(warning))}`)
}

/** Restoring takes an owner. */
function nextStep({ published, site }: Ending, program: string): string {
  return site.claimToken === undefined
    ? `${program} restore ${published.versionId}`
    : `publish it again without --draft`
}

function uploaded({ published, files }: Ending): string {
  if (published.uploaded === 0) return 'everything was there already'
  if (published.uploaded === files.length) return 'all of it uploaded'
  return `${count(published.uploaded, 'file')} (${size(published.uploadedBytes)}) uploaded, the rest was there already`
}

function inWords({ file, line, message }: PublishWarning): string {
  return `${line === undefined ? file : `${file}:${line}`}: ${message}`
}

function summary({ published, site, files, live }: Ending) {
  const { slug, siteUrl, versionId, previewUrl, warnings } = published
  const { claimUrl, expiresAt } = site
  const bytes = total(files)
  const about = { slug, siteUrl, versionId, previewUrl, live, files: files.length, bytes }
  return { ...about, claimUrl, expiresAt, warnings }
}

function withoutOwner({ site, signedIn }: Ending, program: string, now: number): string[] {
  if (site.claimToken === undefined) return []
  const lines: string[] = []
  if (site.expiresAt !== undefined) {
    const left = (Date.parse(site.expiresAt) - now) / 1000
    lines.push(`It has no owner and is gone in ${span(left)}, at ${moment(site.expiresAt)}.`)
  }
  if (site.claimUrl !== undefined) lines.push(`To keep it, open ${site.claimUrl}`)
  lines.push(`${signedIn ? 'or, since you are signed in' : 'or'}: ${program} claim`)
  return lines
}
