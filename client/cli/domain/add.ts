import type { DomainRecord } from '../../../protocol/api/domains.schema.ts'
import { domainUrl, toZone } from '../../../protocol/domain-url.ts'
import type { Slipway } from '../../sdk/slipway.ts'
import { isSlipwayError } from '../../sdk/slipway-error.ts'
import { openSite } from '../account.ts'
import type { CommandContext, OptionValues } from '../command.ts'
import { quoteArgument } from '../quote-argument.ts'
import { confirm } from '../terminal/choose.ts'
import { formatDnsEntries } from './record.ts'
import { waitUntilActive } from './wait.ts'

/**
 * `slipway domains add DOMAIN`: prints the DNS records, and on a terminal waits until the domain is active.
 */
export async function add(work: CommandContext, options: OptionValues, domain: string): Promise<void> {
  const { terminal } = work
  const { slipway, ...site } = await openSite(work, options)
  const record = await addOrFind(slipway, domain, site.slug)
  if (options.json === true) return terminal.printJson(record)
  if (record.status === 'pending') printRecords(work, record)
  const other = await addAlternate(work, slipway, record)
  if (other?.status === 'pending') printRecords(work, other)
  const all = other === undefined ? [record] : [record, other]
  const pending = all.filter(({ status }) => status === 'pending')
  if (pending.length > 0) {
    if (options['no-wait'] === true || !terminal.live) return printCheckHint(work, pending)
  } else if (!terminal.live) {
    terminal.printNote(`${record.domain} is active`)
    return terminal.print(domainUrl(record, site.server))
  }
  const served: DomainRecord[] = []
  for (const one of all) {
    const active = await waitUntilActive(work, slipway, one)
    if (active === undefined) return
    served.push(active)
  }
  terminal.print(domainUrl(served[0]!, site.server))
}

/** The new record, or the existing one, so that repeating the command continues. */
async function addOrFind(slipway: Slipway, domain: string, slug: string): Promise<DomainRecord> {
  try {
    return await slipway.addDomain(domain, slug)
  } catch (error) {
    if (!isSlipwayError(error, 'DOMAIN_TAKEN')) throw error
    const existing = await slipway.checkDomain(domain).catch((missing: unknown) => {
      throw isSlipwayError(missing, 'NOT_FOUND') ? error : missing
    })
    if (existing.siteSlug !== slug) throw error
    return existing
  }
}

/** Adds the `www` name or the root domain beside it, if requested. */
async function addAlternate(
  { terminal, settings }: CommandContext,
  slipway: Slipway,
  { alternate, domain, siteSlug }: DomainRecord,
): Promise<DomainRecord | undefined> {
  if (alternate === null) return undefined
  const command = `${settings.program} domains add ${quoteArgument(alternate)} --site ${quoteArgument(siteSlug)}`
  if (!terminal.interactive) {
    terminal.printNote(`To redirect ${alternate} to ${domain}: ${command}`)
    return undefined
  }
  if (!(await confirm(terminal, `Redirect ${alternate} to ${domain}?`))) return undefined
  try {
    return await addOrFind(slipway, alternate, siteSlug)
  } catch (error) {
    if (!isSlipwayError(error)) throw error
    terminal.printNote(`${alternate} was not added: ${error.message}`)
    return undefined
  }
}

function printRecords({ terminal }: CommandContext, record: DomainRecord): void {
  const { records } = record
  terminal.printNote(`Add these records at the DNS provider of ${toZone(record)}:`)
  terminal.printNote('')
  for (const line of formatDnsEntries(records)) terminal.print(line)
  terminal.printNote('')
  if (records.some(({ type }) => type === 'ALIAS')) {
    terminal.printNote('Some providers call ALIAS records ANAME or CNAME flattening. @ is the domain itself.')
  }
}

function printCheckHint({ terminal, settings }: CommandContext, all: readonly DomainRecord[]): void {
  terminal.printNote('The domain becomes active automatically once DNS has them. Check it:')
  for (const { domain } of all)
    terminal.printNote(`  ${settings.program} domains check ${quoteArgument(domain)}`)
}
