import { useState } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { Button } from '../kit/button.tsx'
import { DeleteSite, describeDeletion } from './delete-site.tsx'

/** Deletes the site. */
export function DangerZone({ site }: { site: SiteDetails }) {
  const [isConfirming, setConfirming] = useState(false)
  return (
    <section class="panel stack danger-zone" aria-labelledby="danger-zone-title">
      <h2 id="danger-zone-title">Danger zone</h2>
      <div class="panel-head">
        <div>
          <h3>Delete site</h3>
          <p class="quiet small">{describeDeletion(site)}</p>
        </div>
        <Button variant="danger" onClick={() => setConfirming(true)}>
          Delete site
        </Button>
      </div>
      {isConfirming && <DeleteSite site={site} onClose={() => setConfirming(false)} />}
    </section>
  )
}
