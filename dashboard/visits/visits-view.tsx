import { Panel } from '../kit/panel.tsx'

/** How often a site was visited. */
export function VisitsView({ slug }: { slug: string }) {
  return <Panel title="Visits" lead={slug} />
}
