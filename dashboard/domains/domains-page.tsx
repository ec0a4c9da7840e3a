import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { DomainList, DomainRecord } from '../../client/wire.ts'
import { forget, type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { arrive } from '../app/arrival.ts'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { Button } from '../kit/button.tsx'
import { Trouble } from '../kit/notice.tsx'
import { Badge, Loading } from '../kit/panel.tsx'
import { AddDomain } from './add-domain.tsx'
import { DomainPage } from './domain-page.tsx'
import { certificateWord, withDomain, withoutDomain } from './domain-words.ts'

/** What the pages of domains do to the list that they share. */
export interface KnownDomains {
  put(record: DomainRecord): void
  drop(domain: string): void
}

/** `/domains`: all of them and the way to another one; with `?domain=` one of them whole. */
export function DomainsPage() {
  return (
    <SignedIn to="see your domains">
      <OwnDomains />
    </SignedIn>
  )
}

function OwnDomains() {
  const { query } = useLocation()
  const domains = useResource('domains', () => slipway.domains())
  const known = knownIn(domains)
  const { value, failing, loading } = domains
  const wanted = query.domain
  // The router does not take another domain for another page; who reads it does.
  const first = useRef(wanted)
  if (wanted !== first.current) arrive()
  const record = value?.domains.find(({ domain }) => domain === wanted)
  if (record) return <DomainPage key={record.domain} record={record} known={known} />
  if (wanted !== undefined && value && !loading) return <NotHere key={wanted} domain={wanted} />
  if (wanted !== undefined)
    return (
      <Page title={wanted} above={<a href="/domains">Domains</a>}>
        <Trouble failing={failing} onAgain={domains.reload} />
        {!value && loading && <Loading what="the domain" />}
      </Page>
    )
  return (
    <List key={query.site} site={query.site} all={value?.domains} known={known}>
      <Trouble failing={failing} onAgain={domains.reload} />
      {!value && loading && <Loading what="your domains" />}
    </List>
  )
}

/** Streams and dialogs answer later: what they change is the list as it is then. */
function knownIn({ set }: Resource<DomainList>): KnownDomains {
  return {
    put: (record) => set(({ domains }) => ({ domains: withDomain(domains, record) })),
    drop(domain) {
      set(({ domains }) => ({ domains: withoutDomain(domains, domain) }))
      forget('me')
    },
  }
}

interface ListProps {
  site: string | undefined
  all: readonly DomainRecord[] | undefined
  known: KnownDomains
  children: preact.ComponentChildren
}

function List({ site, all, known, children }: ListProps) {
  const [wants, want] = useState(site !== undefined)
  const isEmpty = all?.length === 0
  const adds = wants || isEmpty
  const add = all && !adds && (
    <Button look="main" icon="globe" onClick={() => want(true)}>
      Add a domain
    </Button>
  )
  return (
    <Page title="Domains" actions={add}>
      {children}
      {isEmpty && (
        <p class="lead">
          A site can be shown at a domain of your own, with HTTPS. You enter two records in DNS; the rest goes
          by itself.
        </p>
      )}
      {all && all.length > 0 && (
        <ul class="domain-list">
          {all.map((record) => (
            <Row key={record.domain} record={record} />
          ))}
        </ul>
      )}
      {all && adds && <AddDomain site={site} known={known} moves={!isEmpty} />}
    </Page>
  )
}

function Row({ record }: { record: DomainRecord }) {
  const { domain, siteSlug, redirectsTo, status } = record
  const isActive = status === 'active'
  const word = certificateWord(record)
  return (
    <li class="domain-row">
      <div>
        <h2>
          <a href={`/domains?domain=${domain}`}>{domain}</a>
        </h2>
        <p class="quiet small">
          {redirectsTo ? `leads to ${redirectsTo}` : <a href={`/sites/${siteSlug}`}>{siteSlug}</a>}
        </p>
      </div>
      <div class="choices">
        <StatusBadge record={record} />
        {isActive && word && <span class="quiet small">{word}</span>}
      </div>
    </li>
  )
}

export function StatusBadge({ record }: { record: DomainRecord }) {
  const { status, reason, certificate } = record
  if (status === 'pending') return <Badge tone="warn">Pending</Badge>
  const isWell = reason === null && certificate.problem === null
  return <Badge tone={isWell ? 'good' : 'warn'}>Active</Badge>
}

function NotHere({ domain }: { domain: string }) {
  return (
    <Page title="This domain is not here." narrow>
      <p class="lead">{`${domain} may have been removed in another tab, or it belongs to another account.`}</p>
      <p>
        <a href="/domains">Your domains</a>
      </p>
    </Page>
  )
}
