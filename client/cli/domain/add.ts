import type { Slipway } from '../../sdk/slipway.ts'
import { isSlipwayError } from '../../sdk/slipway-error.ts'
import type { DomainRecord } from '../../wire.ts'
import { harmless } from '../../words.ts'
import { asOwner, chooseSite } from '../account.ts'
import type { Values, Workplace } from '../command.ts'
import { addressOf, entries, zoneOf } from './record.ts'
import { waitFor } from './wait.ts'

/** `slipway domains add DOMAIN`: what to enter in DNS, and on a terminal all that follows, up to the address to open. */
export async function add(work: Workplace, options: Values, domain: string): Promise<void> {
  const { terminal } = work
  const site = chooseSite(work, options)
  const slipway = asOwner(work, options, site)
  const record = await added(slipway, domain, site.slug)
  if (options.json === true) return terminal.print(JSON.stringify(record, undefined, 2))
  const other = await alternateOf(work, slipway, record)
  const all = other === undefined ? [record] : [record, other]
  const pending = all.filter(({ status }) => status === 'pending')
  if (pending.length > 0) {
    tellRecords(work, pending)
    if (options['no-wait'] === true || !terminal.live) return tellHowToLook(work, pending)
  } else if (!terminal.live) {
    terminal.say(harmless(`${record.domain} is active.`))
    return terminal.print(addressOf(record, site.server))
  }
  const served: DomainRecord[] = []
  for (const one of all) {
    const active = await waitFor(work, slipway, one)
    if (active === undefined) return
    served.push(active)
  }
  terminal.print(addressOf(served[0]!, site.server))
}

/** The new record; or the one that is there, so that the same command goes on where it was. */
async function added(slipway: Slipway, domain: string, slug: string): Promise<DomainRecord> {
  try {
    return await slipway.addDomain(domain, slug)
  } catch (error) {
    if (!isSlipwayError(error, 'DOMAIN_TAKEN')) throw error
    const mine = await slipway.checkDomain(domain).catch((missing: unknown) => {
      throw isSlipwayError(missing, 'NOT_FOUND') ? error : missing
    })
    if (mine.siteSlug !== slug) throw error
    return mine
  }
}

/** Adds the `www` or the root beside it, if that is wanted. */
async function alternateOf(
  { terminal, settings }: Workplace,
  slipway: Slipway,
  { alternate, domain, siteSlug }: DomainRecord,
): Promise<DomainRecord | undefined> {
  if (alternate === null) return undefined
  const command = `${settings.program} domains add ${alternate} --site ${siteSlug}`
  if (!terminal.interactive) {
    terminal.say(harmless(`To have ${alternate} lead to ${domain}: ${command}`))
    return undefined
  }
  const typed = await terminal.ask(harmless(`Should ${alternate} lead to ${domain}? [Y/n]`))
  if (!/^(y|yes)?$/i.test(typed)) return undefined
  try {
    return await added(slipway, alternate, siteSlug)
  } catch (error) {
    if (!isSlipwayError(error)) throw error
    terminal.say(harmless(`${alternate} was not added: ${error.message}`))
    return undefined
  }
}

function tellRecords({ terminal }: Workplace, all: readonly DomainRecord[]): void {
  const records = all.flatMap((one) => one.records)
  terminal.say(harmless(`Enter these records at whoever runs the DNS of ${zoneOf(all[0]!)}:`))
  terminal.say('')
  for (const line of entries(records)) terminal.print(line)
  terminal.say('')
  if (records.some(({ type }) => type === 'ALIAS')) {
    terminal.say('ALIAS is called ANAME or CNAME flattening by some, and @ stands for the domain itself.')
  }
}

function tellHowToLook({ terminal, settings }: Workplace, all: readonly DomainRecord[]): void {
  terminal.say('It goes on by itself when they are there. To see how it is:')
  for (const { domain } of all) terminal.say(harmless(`  ${settings.program} domains check ${domain}`))
}
