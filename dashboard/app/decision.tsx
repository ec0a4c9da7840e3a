import type { Action } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { useSettled } from './use-settled.ts'

/**
 * The buttons that allow or deny what a program asks for, and the error of the decision. *Allow* works when the page has
 * been in view for a second.
 */
export function Decision({ decide }: { decide: Action<[allow: boolean]> }) {
  const isSettled = useSettled()
  return (
    <>
      <ErrorNotice error={decide.error} />
      <div class="choices">
        <Button variant="main" busy={decide.busy} disabled={!isSettled} onClick={() => decide(true)}>
          Allow
        </Button>
        <Button busy={decide.busy} onClick={() => decide(false)}>
          Deny
        </Button>
      </div>
    </>
  )
}
