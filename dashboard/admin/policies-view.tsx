import { BannerPanel } from './banner-panel.tsx'

/** What the operator has set for all users. */
export function PoliciesView() {
  return (
    <div class="stack">
      <BannerPanel />
    </div>
  )
}
