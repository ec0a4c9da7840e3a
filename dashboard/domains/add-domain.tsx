import { useEffect, useRef, useState } from 'preact/hooks'
import type { SiteSummary } from '../../client/wire.ts'
import { submitting, useAction } from '../api/action.ts'
import type { Failing } from '../api/failing.ts'
import { forget, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useWayOn } from '../app/use-way-on.ts'
import { Button } from '../kit/button.tsx'
import { Choice, TextField } from '../kit/field.tsx'
import { Trouble } from '../kit/notice.tsx'
import { Loading, Panel } from '../kit/panel.tsx'
import type { KnownDomains } from './domains-page.tsx'

interface AddDomainProps {
  /** The site that is chosen at first. */
  site: string | undefined
  known: KnownDomains
  /** Whether the keyboard goes to it, since somebody asked for it. */
  moves: boolean
}

/** The name, and the site that it shows; then on to what has to be entered in DNS. */
export function AddDomain({ site, known, moves }: AddDomainProps) {
  const wayOn = useWayOn()
  const sites = useResource('sites', () => slipway.list())
  const [domain, write] = useState('')
  const [chosen, choose] = useState(site)
  const box = useRef<HTMLInputElement>(null)
  const choices = choicesOf(sites.value?.publishes, site)
  const slug = chosen ?? choices[0]?.value
  const hasSites = choices.length > 0
  useEffect(() => {
    if (moves && hasSites) box.current?.focus()
  }, [moves, hasSites])
  const add = useAction(async () => {
    const added = await slipway.addDomain(hostOf(domain), slug!)
    known.put(added)
    forget('me')
    wayOn(`/domains?domain=${added.domain}`)
  })
  const wrong = atField(add.failing)
  if (sites.value && !hasSites) return <NoSite />
  return (
    <Panel title="Add a domain">
      <Trouble failing={sites.failing} onAgain={sites.reload} />
      {!sites.value && sites.loading && !hasSites && <Loading what="your sites" />}
      {hasSites && (
        <form class="stack" onSubmit={submitting(add)}>
          <TextField
            label="Domain"
            hint="A name you own: www.example.com, shop.example.com or example.com."
            inputMode="url"
            autocapitalize="none"
            autocomplete="off"
            maxLength={300}
            box={box}
            value={domain}
            wrong={wrong.domain}
            onWrite={write}
          />
          <Choice
            label="Site it shows"
            value={slug!}
            wrong={wrong.site}
            onChoose={choose}
            choices={choices}
          />
          {wrong.elsewhere && <Refusal failing={wrong.elsewhere} />}
          <div class="choices">
            <Button look="main" busy={add.busy}>
              Add the domain
            </Button>
          </div>
        </form>
      )}
    </Panel>
  )
}

function Refusal({ failing }: { failing: Failing }) {
  return (
    <Trouble failing={failing}>
      {failing.code === 'DOMAIN_LIMIT_REACHED' && (
        <p>
          Remove a domain that you no longer need, or ask whoever runs this service for a plan with more. A{' '}
          <code>www</code> and its root on one site count as one.
        </p>
      )}
    </Trouble>
  )
}

function NoSite() {
  return (
    <Panel title="Publish a site first">
      <p>
        A domain shows a site of yours, and there is none yet. <a href="/">Publish one</a>, then come back.
      </p>
    </Panel>
  )
}

/** What is wrong, where it is wrong. */
function atField(failing: Failing | undefined): { domain?: string; site?: string; elsewhere?: Failing } {
  if (!failing) return {}
  const { code, title, fields } = failing
  if (code === 'DOMAIN_TAKEN') return { domain: title }
  if (code === 'NOT_FOUND') return { site: `${title} Choose another one.` }
  if (code === 'SITE_EXPIRED') return { site: title }
  const { domain, siteSlug } = fields
  if (domain === undefined && siteSlug === undefined) return { elsewhere: failing }
  return { ...(domain && { domain }), ...(siteSlug && { site: siteSlug }) }
}

/** The host of an address that was pasted whole; everything else as it was typed. */
function hostOf(typed: string): string {
  return typed
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/[/?#].*$/, '')
}

function choicesOf(sites: readonly SiteSummary[] | undefined, wanted: string | undefined) {
  const known = (sites ?? []).map(({ slug, title }) => ({
    value: slug,
    name: title ? `${title} (${slug})` : slug,
  }))
  const isKnown = wanted === undefined || known.some(({ value }) => value === wanted)
  return isKnown ? known : [{ value: wanted, name: wanted }, ...known]
}
