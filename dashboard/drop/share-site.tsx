import { isLoopbackUrl } from '../../protocol/loopback.ts'
import { Button } from '../kit/button.tsx'
import { QrCode } from './qr-code.tsx'

/** How other devices open a site: the share sheet of a phone, or a QR code on a computer. */
export function ShareSite({ siteUrl }: { siteUrl: string }) {
  if (isLoopbackUrl(siteUrl)) return <OnlyHere />
  if (!IS_PHONE) return <QrCode address={siteUrl} />
  if (!('share' in navigator)) return null
  // The user may close the share sheet, which rejects.
  const share = () => navigator.share({ url: siteUrl }).catch(() => {})
  return <Button onClick={share}>Share</Button>
}

const IS_PHONE = matchMedia('(pointer: coarse)').matches

function OnlyHere() {
  return (
    <p class="quiet small">
      Only this computer can open this address. <a href="/docs/run">Run a server that others can reach</a>
    </p>
  )
}
