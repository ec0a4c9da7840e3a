import { useState } from 'preact/hooks'
import { browser } from '../api/browser-storage.ts'
import { settings } from '../api/settings.ts'
import { Button } from '../kit/button.tsx'
import { Notice } from '../kit/notice.tsx'

/** The text of the banner that this browser has dismissed last. */
const DISMISSED = 'slipway.banner'

/** The message of the operator, until it is dismissed. Another text is another message. */
export function OperatorBanner() {
  const { banner } = settings
  const [isDismissed, setDismissed] = useState(() => browser.read(DISMISSED) === banner?.text)
  if (!banner || isDismissed) return null
  const dismiss = () => {
    browser.write(DISMISSED, banner.text)
    setDismissed(true)
  }
  return (
    <div class="page-notice">
      <Notice tone={banner.level === 'warning' ? 'warn' : 'plain'}>
        <div class="banner">
          <p>
            {banner.text} {banner.link && <a href={banner.link}>More information</a>}
          </p>
          <Button variant="link" onClick={dismiss}>
            Dismiss
          </Button>
        </div>
      </Notice>
    </div>
  )
}
