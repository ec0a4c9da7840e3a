import type { Preview } from '../../protocol/api/previews.schema.ts'
import { formatBytes, formatNumber } from '../../protocol/format.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { openSite } from './account.ts'
import { RefusedError, UnknownNameError, UsageError } from './cli-error.ts'
import { type Command, type CommandContext, printResult, type Run, SITE_OPTIONS } from './command.ts'
import { isInTrash, isMissingSite } from './format-error.ts'
import { choose } from './terminal/choose.ts'
import { fitTable } from './terminal/table.ts'
import { formatLocalTime } from './terminal/time.ts'
import { formatChanges } from './versions.ts'

/** `slipway previews` */
export const previews: Command = {
  name: 'previews',
  operands: '[action] [name]',
  summary: 'List and delete the previews of a site',
  about: `
A preview shows a version at a URL that stays the same. Publish to it with publish --preview NAME, and make its version
live with promote.

  previews                list the previews of a site, compared with the live version
  previews delete NAME    delete a preview`,
  options: SITE_OPTIONS,
  actions: {
    list: { operands: '', run: list },
    delete: { operands: '<name>', run: remove },
  },
}

async function list(...[work, options]: Parameters<Run>): Promise<void> {
  const { slug, slipway } = await openSite(work, options)
  const list = await slipway.previews(slug)
  const { previews: found } = list
  const { terminal, settings, retryPolicy } = work
  printResult(work, options, list, () => {
    if (found.length === 0)
      return terminal.printNote(`No previews yet. Publish one: ${settings.program} publish --preview NAME`)
    terminal.printRows(fitTable(formatPreviews(found, retryPolicy.now()), DISPENSABLE))
    terminal.printNote(`Make one live: ${settings.program} promote NAME`)
  })
}

async function remove(...[work, options, [name]]: Parameters<Run>): Promise<void> {
  if (name === undefined)
    throw new UsageError('Name a preview', `Such as: ${work.settings.program} previews delete pr-42`)
  const { slug, slipway } = await openSite(work, options)
  const removed = await slipway.deletePreview(slug, name).catch((error: unknown) => {
    throw toUnknownPreview(work, error)
  })
  const { terminal } = work
  printResult(work, options, removed, () => terminal.printDone(`Deleted the preview ${removed.name}`))
}

/** The name that was typed; on a terminal without it, the one that is picked from the list. */
export async function resolvePreview(
  { terminal, settings }: CommandContext,
  find: () => Promise<{ previews: Preview[] }>,
  typed: string | undefined,
): Promise<string> {
  if (typed !== undefined) return typed
  if (!terminal.interactive) throw new UsageError('Name a preview', `List them: ${settings.program} previews`)
  const others = (await find()).previews.filter(({ current }) => !current)
  if (others.length === 0) throw new RefusedError('There is no preview that differs from the live version')
  return choose(
    terminal,
    'Which preview?',
    others.map(({ name, url }) => [name, `${name}  ${url}`]),
  )
}

/** Says which previews there are, instead of that something was not found. */
export function toUnknownPreview({ settings }: CommandContext, error: unknown): unknown {
  if (!isSlipwayError(error, 'NOT_FOUND') || isInTrash(error) || isMissingSite(error)) return error
  return new UnknownNameError(error.message, `List the previews: ${settings.program} previews`)
}

/** Columns that a narrow terminal has no room for. */
const DISPENSABLE = ['SIZE', 'FILES', 'CHANGES', 'PUBLISHED', 'MESSAGE', 'ENDS', 'STATE']

function formatPreviews(found: Preview[], now: number): string[][] {
  const head = ['NAME', 'STATE', 'PUBLISHED', 'CHANGES', 'FILES', 'SIZE', 'ENDS', 'URL', 'MESSAGE']
  const rows = found.map((preview) => [
    preview.name,
    preview.current ? 'live' : 'preview',
    formatLocalTime(preview.createdAt, now),
    formatChanges(preview),
    formatNumber(preview.fileCount),
    formatBytes(preview.totalBytes),
    formatLocalTime(preview.expiresAt, now),
    preview.url,
    preview.message ?? '',
  ])
  return [head, ...rows]
}
