import { settings } from '../api/settings.ts'
import { ButtonLink } from '../kit/button.tsx'

/** Opens the form that adds a domain to a site; nothing where the server cannot serve domains. */
export function AddDomainLink({ slug }: { slug: string }) {
  if (!settings.customDomains) return null
  return (
    <ButtonLink icon="globe" href={`/domains?site=${slug}`}>
      Add domain
    </ButtonLink>
  )
}
