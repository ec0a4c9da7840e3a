import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { DomainList, DomainRecord } from '../../protocol/api/domains.schema.ts'
import { invalidate, type Resource, useResource } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { Page } from '../app/page.tsx'
import { markNavigated } from '../app/route-focus.ts'
import { SignedIn } from '../app/signed-in.tsx'
import { SuspensionNotice } from '../app/suspension-notice.tsx'
import { Button } from '../kit/button.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { AddDomain } from './add-domain.tsx'
import { certificateLabel, withDomain, withoutDomain } from './domain-labels.ts'
import { DomainPage } from './domain-page.tsx'
import type { KnownDomains } from './known-domains.ts'
import { StatusBadge } from './status-badge.tsx'

/** `/domains`: the list and a form; with `?domain=` the page of one domain. */
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
  const { value: me } = useResource('me', () => slipway.me())
  const known = knownIn(domains)
  const { value, error, loading } = domains
  const wanted = query.domain
  // The router reuses the page for another domain; focus must still move.
  const first = useRef(wanted)
  if (wanted !== first.current) markNavigated()
  const record = value?.domains.find(({ domain }) => domain === wanted)
  if (record) return <DomainPage key={record.domain} record={record} known={known} />
  if (wanted !== undefined && value && !loading) return <NotHere key={wanted} domain={wanted} />
  if (wanted !== undefined)
    return (
      <Page title={wanted} above={<a href="/domains">Domains</a>}>
        <ErrorNotice error={error} onRetry={domains.reload} />
        {!value && loading && <Loading what="the domain" />}
      </Page>
    )
  return (
    <List
      key={query.site}
      site={query.site}
      all={value?.domains}
      known={known}
      canAdd={settings.customDomains && me?.suspension === undefined}
    >
      <SuspensionNotice of="account" suspension={me?.suspension} />
      <ErrorNotice error={error} onRetry={domains.reload} />
      {!value && loading && <Loading what="your domains" />}
    </List>
  )
}

/** Streams and dialogs respond later: they change the list of that time. */
function knownIn({ set }: Resource<DomainList>): KnownDomains {
  return {
    put: (record) => set(({ domains }) => ({ domains: withDomain(domains, record) })),
    drop(domain) {
      set(({ domains }) => ({ domains: withoutDomain(domains, domain) }))
      invalidate('me')
    },
  }
}

interface ListProps {
  site: string | undefined
  all: readonly DomainRecord[] | undefined
  known: KnownDomains
  canAdd: boolean
  children: preact.ComponentChildren
}

function List({ site, all, known, canAdd, children }: ListProps) {
  const [wants, want] = useState(site !== undefined)
  const isEmpty = all?.length === 0
  const adds = wants || isEmpty
  const add = canAdd && all && !adds && (
    <Button variant="main" icon="globe" onClick={() => want(true)}>
      Add domain
    </Button>
  )
  return (
    <Page title="Domains" actions={add}>
      {children}
      {isEmpty && canAdd && (
        <p class="lead">
          {settings.issuesCertificates
            ? 'Connect your own domain. Add two DNS records and HTTPS is set up automatically.'
            : 'Connect your own domain: add two DNS records.'}
        </p>
      )}
      {all && all.length > 0 && (
        <ul class="domain-list">
          {all.map((record) => (
            <Row key={record.domain} record={record} />
          ))}
        </ul>
      )}
      {all && !settings.customDomains && <NotAvailable />}
      {all && canAdd && adds && <AddDomain site={site} known={known} moves={!isEmpty} />}
    </Page>
  )
}

/** In place of the form, where no domain could reach the service. */
function NotAvailable() {
  return (
    <Notice title="Custom domains aren't available on this server">
      <p>
        Operators: set <code>SLIPWAY_PROXY_HOST</code> to a public host name that points to this server.
      </p>
    </Notice>
  )
}

function Row({ record }: { record: DomainRecord }) {
  const { domain, siteSlug, redirectsTo, status } = record
  const isActive = status === 'active'
  const word = certificateLabel(record)
  return (
    <li class="domain-row">
      <div>
        <h2>
          <a href={`/domains?domain=${domain}`}>{domain}</a>
        </h2>
        <p class="quiet small">
          {redirectsTo ? `Redirects to ${redirectsTo}` : <a href={`/sites/${siteSlug}`}>{siteSlug}</a>}
        </p>
      </div>
      <div class="choices">
        <StatusBadge record={record} />
        {isActive && word && <span class="quiet small">{word}</span>}
      </div>
    </li>
  )
}

function NotHere({ domain }: { domain: string }) {
  return (
    <Page title="Domain not found" narrow>
      <p class="lead">{`${domain} may have been removed, or belongs to another account.`}</p>
      <p>
        <a href="/domains">Your domains</a>
      </p>
    </Page>
  )
}
