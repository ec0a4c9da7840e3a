import { useEffect, useRef, useState } from 'preact/hooks'
import { MAX_DOMAIN_TEXT_LENGTH } from '../../protocol/api/domains.ts'
import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { handleSubmit, useAction } from '../api/action.ts'
import type { DisplayError } from '../api/display-error.ts'
import { invalidate } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Button } from '../kit/button.tsx'
import { Choice, TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { useAllSites } from '../sites/own-sites.ts'
import type { KnownDomains } from './known-domains.ts'

interface AddDomainProps {
  /** The preselected site. */
  site: string | undefined
  known: KnownDomains
  /** Whether focus moves to it. */
  moves: boolean
}

/** The domain and its site; then shows the DNS records. */
export function AddDomain({ site, known, moves }: AddDomainProps) {
  const navigate = useGuardedNavigate()
  const sites = useAllSites(true)
  const [domain, write] = useState('')
  const [chosen, choose] = useState(site)
  const box = useRef<HTMLInputElement>(null)
  const choices = siteChoices(
    sites.value?.publishes.filter(({ role }) => role === 'owner'),
    site,
  )
  const slug = chosen ?? choices[0]?.value
  const hasSites = choices.length > 0
  useEffect(() => {
    if (moves && hasSites) box.current?.focus()
  }, [moves, hasSites])
  const add = useAction(async () => {
    const added = await slipway.addDomain(parseHost(domain), slug!)
    known.put(added)
    invalidate('me')
    navigate(`/domains?domain=${added.domain}`)
  })
  const wrong = atField(add.error)
  if (sites.value && !hasSites) return <NoSite />
  return (
    <Panel title="Add domain">
      <ErrorNotice error={sites.error} onRetry={sites.reload} />
      {!sites.value && sites.loading && !hasSites && <Loading what="your sites" />}
      {hasSites && (
        <form class="stack" onSubmit={handleSubmit(add)}>
          <TextField
            label="Domain"
            hint="A domain you own, such as www.example.com or example.com."
            inputMode="url"
            autocapitalize="none"
            autocomplete="off"
            maxLength={MAX_DOMAIN_TEXT_LENGTH}
            box={box}
            value={domain}
            error={wrong.domain}
            onWrite={write}
          />
          <Choice label="Site" value={slug!} error={wrong.site} onChoose={choose} choices={choices} />
          {wrong.elsewhere && <Refusal error={wrong.elsewhere} />}
          <div class="choices">
            <Button variant="main" busy={add.busy}>
              Add domain
            </Button>
          </div>
        </form>
      )}
    </Panel>
  )
}

function Refusal({ error }: { error: DisplayError }) {
  return (
    <ErrorNotice error={error}>
      {error.code === 'DOMAIN_LIMIT_REACHED' && (
        <p>
          Remove a domain, or ask the administrator for more. <code>www</code> and its root domain on one site
          count as one.
        </p>
      )}
    </ErrorNotice>
  )
}

function NoSite() {
  return (
    <Panel title="Publish a site first">
      <p>
        A domain points to one of your sites. <a href="/">Publish a site</a>, then add the domain.
      </p>
    </Panel>
  )
}

/** Maps an error to its field. */
function atField(error: DisplayError | undefined): {
  domain?: string
  site?: string
  elsewhere?: DisplayError
} {
  if (!error) return {}
  const { code, title, fields } = error
  if (code === 'DOMAIN_TAKEN') return { domain: title }
  if (code === 'NOT_FOUND') return { site: `${title} Choose another site.` }
  if (code === 'SITE_EXPIRED') return { site: title }
  const { domain, siteSlug } = fields
  if (domain === undefined && siteSlug === undefined) return { elsewhere: error }
  return { ...(domain && { domain }), ...(siteSlug && { site: siteSlug }) }
}

/** The host of a pasted URL; any other input unchanged. */
function parseHost(typed: string): string {
  return typed
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/[/?#].*/s, '')
}

function siteChoices(sites: readonly SiteSummary[] | undefined, wanted: string | undefined) {
  const known = (sites ?? []).map(({ slug, title }) => ({
    value: slug,
    name: title ? `${title} (${slug})` : slug,
  }))
  const isKnown = wanted === undefined || known.some(({ value }) => value === wanted)
  return isKnown ? known : [{ value: wanted, name: wanted }, ...known]
}
