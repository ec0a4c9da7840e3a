import type { Review, ReviewThread } from '../../protocol/api/reviews.schema.ts'
import { pluralize, shortId } from '../../protocol/format.ts'
import { mayPass } from '../sdk/retry.ts'
import type { SiteReview } from '../sdk/slipway.ts'
import { openSite } from './account.ts'
import { ChangesRequestedError, UsageError } from './cli-error.ts'
import {
  type Command,
  type CommandContext,
  type OptionValues,
  printResult,
  SITE_OPTIONS,
  stringOption,
} from './command.ts'
import { describeError } from './format-error.ts'
import { quoteArgument } from './quote-argument.ts'
import { formatLocalTime } from './terminal/time.ts'

const STATES = ['open', 'resolved', 'outdated', 'all'] as const

/** A longer pause that a server asks for is not kept. */
const MAX_RETRY_AFTER_SECONDS = 3600

/** Minimum pause after a failure while waiting. */
const RETRY_DELAY_MS = 5000

/** `slipway feedback` */
export const feedback: Command = {
  name: 'feedback',
  operands: '[action] [id] [text]',
  summary: 'Read and answer the review of a preview or of a site',
  about: `
Reviewers comment on places of a page and decide about a version: with the link that publish --review prints, or in the
dashboard.

  feedback                   list the open threads: page, place, text, words
  feedback reply ID "TEXT"   answer a thread
  feedback resolve ID        resolve a thread; reopen opens it again
  feedback --wait            wait until the shown version is approved (exit code 0), or changes are requested (8)

Without --preview, it is about the live version, also to reply, resolve and reopen.`,
  options: {
    preview: { type: 'string', value: 'NAME', help: 'The review of this preview' },
    status: {
      type: 'string',
      value: 'STATUS',
      help: 'List open, resolved, outdated or all threads (default: open)',
    },
    wait: { type: 'boolean', help: 'Wait for a decision about the version that is shown' },
    ...SITE_OPTIONS,
  },
  actions: {
    list: { operands: '', run: list },
    reply: {
      operands: '<id> <text>',
      run: (work, options, [id, text]) => change(work, options, id, { text: requireWords(work, text) }),
    },
    resolve: {
      operands: '<id>',
      run: (work, options, [id]) => change(work, options, id, { status: 'resolved' }),
    },
    reopen: {
      operands: '<id>',
      run: (work, options, [id]) => change(work, options, id, { status: 'open' }),
    },
  },
}

async function list(work: CommandContext, options: OptionValues): Promise<void> {
  const status = stringOption(options, 'status') ?? 'open'
  const known = STATES.find((one) => one === status)
  if (known === undefined) throw new UsageError(`Unknown status "${status}"`, `One of: ${STATES.join(', ')}`)
  const { api } = await openReview(work, options)
  const get = () => api.get(known === 'all' ? {} : { status: known })
  const review = options.wait === true ? await untilDecided(work, api, get) : await get()
  const { frame: _, ...result } = review
  const isRefused = options.wait === true && review.decision === 'changes-requested'
  if (!isRefused || options.json !== true)
    printResult(work, options, result, () => print(work, options, review))
  if (isRefused) throw new ChangesRequestedError(describeDecision(review), result)
}

async function openReview(work: CommandContext, options: OptionValues) {
  const { slug, slipway } = await openSite(work, options)
  return { slug, api: slipway.review(slug, stringOption(options, 'preview')) }
}

/** Of the version that is shown: another one begins without a decision. An absence of the server is printed once. */
async function untilDecided(
  work: CommandContext,
  api: SiteReview,
  get: () => Promise<Review>,
): Promise<Review> {
  const { terminal, retryPolicy, signal } = work
  let review: Review | undefined
  let isAway = false
  while (true) {
    try {
      const known = review?.revision
      if (known === undefined || (await api.wait(known, signal)).revision !== known) review = await get()
      if (review!.decision !== 'none') return review!
      if (known === undefined)
        terminal.printNote(`Waiting for a decision about ${shortId(review!.versionId)}…`)
      isAway = false
    } catch (error) {
      if (!mayPass(error)) throw error
      if (!isAway) {
        terminal.printProblem(describeError(error, work).message)
        terminal.printNote('  Still waiting. Ctrl-C stops.')
      }
      isAway = true
      const seconds = Math.min(error.retryAfterSeconds ?? 0, MAX_RETRY_AFTER_SECONDS)
      await retryPolicy.wait(Math.max(RETRY_DELAY_MS, seconds * 1000), signal)
    }
  }
}

async function change(
  work: CommandContext,
  options: OptionValues,
  id: string | undefined,
  given: { text: string } | { status: ReviewThread['status'] },
): Promise<void> {
  if (id === undefined)
    throw new UsageError('Name a thread by its ID', `List them: ${commandOf(work, options)}`)
  const { api } = await openReview(work, options)
  const { threads } = await api.get()
  const found = threads.filter((thread) => thread.id.startsWith(id))
  if (found.length !== 1) {
    const problem = found.length === 0 ? 'No thread has this ID' : 'Several threads begin with this ID'
    const others = options.preview === undefined ? ['Those of a preview need --preview NAME.'] : []
    throw new UsageError(
      `${problem}: ${id}`,
      `List them: ${commandOf(work, options)} --status all`,
      ...others,
    )
  }
  const thread = await api.addToThread(found[0]!.id, given)
  const done = 'text' in given ? 'Replied to' : given.status === 'resolved' ? 'Resolved' : 'Reopened'
  printResult(work, options, thread, () => work.terminal.printDone(`${done} ${id}`))
}

function requireWords({ settings }: CommandContext, text: string | undefined): string {
  if (text !== undefined && text.trim() !== '') return text
  throw new UsageError(
    'Write the reply',
    `Such as: ${settings.program} feedback reply ID "Done in the next version"`,
  )
}

/** `feedback` for the same review. */
function commandOf({ settings }: CommandContext, options: OptionValues): string {
  const preview = stringOption(options, 'preview')
  return `${settings.program} feedback${preview === undefined ? '' : ` --preview ${quoteArgument(preview)}`}`
}

function print(work: CommandContext, options: OptionValues, review: Review): void {
  const { terminal, retryPolicy } = work
  const { threads, decision, counts } = review
  const status = stringOption(options, 'status') ?? 'open'
  const now = retryPolicy.now()
  if (threads.length === 0) terminal.printNote(`No ${status === 'all' ? '' : `${status} `}threads.`)
  for (const thread of threads) {
    const { id, place, outdated, comments } = thread
    const state = thread.status === 'open' && outdated ? 'outdated' : thread.status
    terminal.print(`${id}  ${place.path}  ${state}  ${place.width}×${place.height}`)
    const [before, after] = [place.before && `${place.before} `, place.after && ` ${place.after}`]
    const words = place.text && `${before}"${place.text}"${after}  `
    terminal.print(`  ${words}${place.selector}`)
    for (const { author, text, createdAt } of comments) {
      const [first, ...others] = text.split(/\r?\n/)
      terminal.print(`  ${author.name} (${author.role}), ${formatLocalTime(createdAt, now)}: ${first}`)
      for (const line of others) terminal.print(`    ${line}`)
    }
  }
  if (decision === 'approved') terminal.printDone(describeDecision(review))
  else if (decision !== 'none' && options.wait !== true) terminal.printProblem(describeDecision(review))
  const { open, resolved, outdated } = counts
  terminal.printNote(`${pluralize(open, 'open thread')}, ${resolved} resolved, ${outdated} outdated`)
  if (open > 0) terminal.printNote(`Answer one: ${commandOf(work, options)} reply ID "TEXT"`)
}

function describeDecision({ decision, decided }: Review): string {
  const who = decided
    ? ` by ${decided.author.name} (${decided.author.role})`
    : ' in another review of the site, for the same content'
  const note = decided?.note ? `: ${decided.note.replace(/\s+/g, ' ')}` : ''
  return `${decision === 'approved' ? 'Approved' : 'Changes requested'}${who}${note}`
}
