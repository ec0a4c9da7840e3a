import type { Slipway } from '../../sdk/slipway.ts'
import { isSlipwayError, type SlipwayError } from '../../sdk/slipway-error.ts'
import type { DomainRecord } from '../../wire.ts'
import { harmless, moment, span } from '../../words.ts'
import type { Workplace } from '../command.ts'
import { Trouble } from '../trouble.ts'
import { answered, nameOf } from './record.ts'

/** About two hours. Each look is a request that counts: the first hour takes less than half of what the Free plan has. */
const MOST_LOOKS = 40
const FAILURES_IN_A_ROW = 5

/**
 * Looks at a domain again and again, and says what has changed, until it is active and, where the service has HTTPS, has
 * its certificate. Undefined when it stopped before, which it has said. A wish to stop is Trouble that says what goes on.
 */
export async function waitFor(
  work: Workplace,
  slipway: Slipway,
  first: DomainRecord,
): Promise<DomainRecord | undefined> {
  const told = new Set<string>()
  let record = first
  let failures = 0
  for (let looks = 0; ; looks++) {
    tellNews(work, record, told)
    if (looks >= 3) tellReason(work, record, told)
    if (isServed(record)) return record
    if (looks === MOST_LOOKS) return stopped(work, record, 'That takes long.')
    try {
      await pause(work, record, looks)
      record = await slipway.checkDomain(record.domain)
      failures = 0
    } catch (error) {
      if (work.signal.aborted) throw interrupted(work, record)
      if (isSlipwayError(error, 'RATE_LIMITED')) return stopped(work, record, overLimit(work, error))
      if (!isPassing(error) || ++failures === FAILURES_IN_A_ROW) throw error
      work.terminal.draw(harmless(`${error.message}; trying again`))
    }
  }
}

/** Whether visitors get the site by it, by HTTPS where the service has that. */
function isServed({ status, certificate }: DomainRecord): boolean {
  return status === 'active' && certificate.status !== 'pending'
}

/** Milliseconds. Near the end it is worth to look soon. */
function pauseAfter(record: DomainRecord, looks: number, now: number): number {
  if (looks < 6) return 5_000
  if (looks >= 18) return 300_000
  if (!isAlmost(record) || looks >= 14) return 60_000
  const next = record.nextCheckAt === null ? 15_000 : Date.parse(record.nextCheckAt) - now + 1_000
  return Math.min(Math.max(next, 5_000), 15_000)
}

function isAlmost({ status, certificate, records }: DomainRecord): boolean {
  return status === 'active' ? certificate.problem === null : records.every(({ right }) => right)
}

async function pause({ terminal, patience, signal }: Workplace, record: DomainRecord, looks: number) {
  const wait = pauseAfter(record, looks, patience.now())
  const line = `${waitingFor(record)}; the next look is in ${span(wait / 1000)}. Ctrl-C ends only the waiting.`
  terminal.draw(harmless(line).slice(0, Math.max(terminal.width - 1, 0)))
  await patience.wait(wait, signal)
}

function waitingFor({ domain, status, records }: DomainRecord): string {
  if (status === 'active') return `Waiting for the certificate of ${domain}`
  const missing = records.filter(({ right }) => !right).map(nameOf)
  return missing.length > 0 ? `Waiting for ${missing.join(' and ')}` : `Waiting for ${domain}`
}

/** Says each thing once. */
function tellNews({ terminal }: Workplace, record: DomainRecord, told: Set<string>): void {
  const tell = (mark: string, sentence: string) => {
    if (told.has(sentence)) return
    told.add(sentence)
    terminal.say(`${mark} ${harmless(sentence)}`)
  }
  const { domain, status, records, redirectsTo, certificate } = record
  if (status === 'pending') {
    for (const one of records) {
      if (one.right) tell(terminal.green('✓'), `${nameOf(one)} is there.`)
      else if (one.right === false && one.found?.length) tell(terminal.red('✗'), wrong(record, one))
    }
    return
  }
  const doing = redirectsTo === null ? 'is active' : `is active and leads to ${redirectsTo}`
  tell(terminal.green('✓'), `${domain} ${doing}.`)
  if (certificate.status === 'active') tell(terminal.green('✓'), `${domain} has its certificate.`)
  if (certificate.problem !== null) tell(terminal.red('✗'), `No certificate yet: ${certificate.problem}`)
}

/** Why it waits although its records are right. The same with other times is nothing new. */
function tellReason({ terminal }: Workplace, { status, records, reason }: DomainRecord, told: Set<string>) {
  const key = reason?.replace(/\d+/g, '0')
  if (status === 'active' || !records.every(({ right }) => right) || !reason || told.has(key!)) return
  told.add(key!)
  terminal.say(harmless(reason))
}

function wrong({ domain }: DomainRecord, record: DomainRecord['records'][number]): string {
  return `${nameOf(record)} of ${domain} is ${answered(record)}, but has to be ${record.value}`
}

function stopped({ terminal, settings }: Workplace, { domain }: DomainRecord, why: string): undefined {
  terminal.say(why)
  terminal.say(harmless(goesOn(domain)))
  terminal.say(harmless(`To see how it is: ${settings.program} domains check ${domain}`))
}

function overLimit({ patience }: Workplace, { retryAfterSeconds }: SlipwayError): string {
  const until =
    retryAfterSeconds === undefined
      ? 'at the moment'
      : `before ${moment(new Date(patience.now() + retryAfterSeconds * 1000).toISOString())}`
  return `The server takes no more requests of yours ${until}.`
}

function interrupted({ settings }: Workplace, { domain }: DomainRecord): Trouble {
  return new Trouble(
    'Stopped waiting',
    harmless(goesOn(domain)),
    harmless(`To see how it is: ${settings.program} domains check ${domain}`),
  )
}

function goesOn(domain: string): string {
  return `${domain} goes on by itself: nothing more is to be done here once its records are right.`
}

function isPassing(error: unknown): error is SlipwayError {
  return isSlipwayError(error, 'NETWORK', 'UNAVAILABLE', 'INTERNAL', 'BAD_ANSWER')
}
