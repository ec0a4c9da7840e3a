import type { DomainRecord } from '../../../protocol/api/domains.schema.ts'
import { formatDuration } from '../../../protocol/format.ts'
import { mayPass } from '../../sdk/retry.ts'
import type { Slipway } from '../../sdk/slipway.ts'
import { isSlipwayError, type SlipwayError } from '../../sdk/slipway-error.ts'
import { InterruptedError } from '../cli-error.ts'
import type { CommandContext } from '../command.ts'
import { quoteArgument } from '../quote-argument.ts'
import { formatLocalTime } from '../terminal/time.ts'
import { formatFound, formatRecordName } from './record.ts'

/**
 * About two hours. Each check is a charged request: the first hour takes less than half of the Free plan's.
 */
const MAX_POLLS = 40
const MAX_CONSECUTIVE_FAILURES = 5

/**
 * Checks a domain repeatedly and prints changes until it is active and, with HTTPS, has its certificate.
 * Undefined when it stopped earlier, which it has printed. An abort is an InterruptedError with what continues.
 */
export async function waitUntilActive(
  work: CommandContext,
  slipway: Slipway,
  first: DomainRecord,
): Promise<DomainRecord | undefined> {
  const printed = new Set<string>()
  let record = first
  let failures = 0
  for (let polls = 0; ; polls++) {
    printChanges(work, record, printed)
    if (polls >= 3) printReason(work, record, printed)
    if (isServed(record)) return record
    if (polls === MAX_POLLS)
      return printStopped(work, record, "Stopped waiting: the domain isn't active yet.")
    try {
      await pause(work, record, polls)
      record = await slipway.checkDomain(record.domain)
      failures = 0
    } catch (error) {
      if (work.signal.aborted) throw interrupted(work, record)
      if (isSlipwayError(error, 'RATE_LIMITED'))
        return printStopped(work, record, rateLimitMessage(work, error))
      if (!mayPass(error) || ++failures === MAX_CONSECUTIVE_FAILURES) throw error
      work.terminal.draw(`${error.message}. Retrying…`)
    }
  }
}

/** Whether visitors reach the site by it, over HTTPS where the service has it. */
function isServed({ status, certificate }: DomainRecord): boolean {
  return status === 'active' && certificate.status !== 'pending'
}

/** Milliseconds. Shorter near the end. */
function pollDelay(record: DomainRecord, polls: number, now: number): number {
  if (polls < 6) return 5_000
  if (polls >= 18) return 300_000
  if (!isAlmostDone(record) || polls >= 14) return 60_000
  const next = record.nextCheckAt === null ? 15_000 : Date.parse(record.nextCheckAt) - now + 1_000
  return Math.min(Math.max(next, 5_000), 15_000)
}

function isAlmostDone({ status, certificate, records }: DomainRecord): boolean {
  return status === 'active' ? certificate.problem === null : records.every(({ right }) => right)
}

async function pause({ terminal, retryPolicy, signal }: CommandContext, record: DomainRecord, polls: number) {
  const wait = pollDelay(record, polls, retryPolicy.now())
  const line = `${waitingFor(record)}. Next check in ${formatDuration(wait / 1000)}. Ctrl-C stops waiting only.`
  terminal.draw(line.slice(0, Math.max(terminal.width - 1, 0)))
  await retryPolicy.wait(wait, signal)
}

function waitingFor({ domain, status, records }: DomainRecord): string {
  if (status === 'active') return `Waiting for the certificate of ${domain}`
  const missing = records.filter(({ right }) => !right).map(formatRecordName)
  return missing.length > 0 ? `Waiting for ${missing.join(' and ')}` : `Waiting for ${domain}`
}

/** Prints each change once. */
function printChanges({ terminal }: CommandContext, record: DomainRecord, printed: Set<string>): void {
  const printOnce = (kind: 'printDone' | 'printProblem', sentence: string) => {
    if (printed.has(sentence)) return
    printed.add(sentence)
    terminal[kind](sentence)
  }
  const { domain, status, records, redirectsTo, certificate } = record
  if (status === 'pending') {
    for (const one of records) {
      if (one.right) printOnce('printDone', `${formatRecordName(one)} is correct`)
      else if (one.right === false && one.found?.length)
        printOnce('printProblem', formatWrongRecord(record, one))
    }
    return
  }
  const doing = redirectsTo === null ? 'is active' : `is active and redirects to ${redirectsTo}`
  printOnce('printDone', `${domain} ${doing}`)
  if (certificate.status === 'active') printOnce('printDone', `${domain} has its certificate`)
  if (certificate.problem !== null) printOnce('printProblem', `No certificate yet: ${certificate.problem}`)
}

/** Why it is pending although its records are right. Changed times alone are not news. */
function printReason(
  { terminal }: CommandContext,
  { status, records, reason }: DomainRecord,
  printed: Set<string>,
) {
  const key = reason?.replace(/\d+/g, '0')
  if (status === 'active' || !records.every(({ right }) => right) || !reason || printed.has(key!)) return
  printed.add(key!)
  terminal.printNote(reason)
}

function formatWrongRecord({ domain }: DomainRecord, record: DomainRecord['records'][number]): string {
  return `${formatRecordName(record)} of ${domain}: expected ${record.value}, found ${formatFound(record)}`
}

function printStopped(
  { terminal, settings }: CommandContext,
  { domain }: DomainRecord,
  why: string,
): undefined {
  terminal.printNote(why)
  terminal.printNote(resumeHint(domain))
  terminal.printNote(`Check it: ${settings.program} domains check ${quoteArgument(domain)}`)
}

function rateLimitMessage({ retryPolicy }: CommandContext, { retryAfterSeconds }: SlipwayError): string {
  const until =
    retryAfterSeconds === undefined
      ? 'later'
      : `at ${formatLocalTime(new Date(retryPolicy.now() + retryAfterSeconds * 1000).toISOString(), retryPolicy.now())}`
  return `Hourly limit reached. Try again ${until}.`
}

function interrupted({ settings }: CommandContext, { domain }: DomainRecord): InterruptedError {
  return new InterruptedError(
    'Stopped waiting',
    resumeHint(domain),
    `Check it: ${settings.program} domains check ${quoteArgument(domain)}`,
  )
}

function resumeHint(domain: string): string {
  return `${domain} becomes active automatically once its DNS records are correct.`
}
