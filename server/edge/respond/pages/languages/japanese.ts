import type { VisitorTexts } from './visitor-texts.ts'

export const JAPANESE: VisitorTexts = {
  siteNotFound: { title: 'サイトが見つかりません', text: 'アドレスに誤りがないか確認してください。' },
  siteNotPublished: {
    title: 'サイトはまだ公開されていません',
    text: '最初のバージョンが完成していません。後でもう一度お試しください。',
  },
  versionNotFound: {
    title: 'バージョンが見つかりません',
    text: 'このバージョンは完成しなかったか、削除されました。',
  },
  pageNotFound: {
    title: 'ページが見つかりません',
    text: 'アドレスを確認するか、トップページからお探しください。',
  },
  siteExpired: { title: 'このサイトの公開期間は終了しました', text: '期間限定で公開されていました。' },
  badRequest: { title: '不正なリクエスト', text: 'アドレスまたはリクエストの形式が正しくありません。' },
  misdirected: {
    title: '宛先の異なるリクエスト',
    text: 'この接続は別のサイトのものです。ページを再読み込みしてください。',
  },
  methodNotAllowed: {
    title: '許可されていないメソッド',
    text: 'このアドレスはこの種類のリクエストに対応していません。',
  },
  preconditionFailed: { title: '前提条件を満たしていません', text: 'ファイルが変更されています。' },
  rangeNotSatisfiable: { title: '範囲が無効です', text: '要求された部分はファイルの終わりを超えています。' },
  internalError: {
    title: 'エラーが発生しました',
    text: 'サーバーはリクエストを処理できませんでした。後でもう一度お試しください。',
  },
  unavailable: { title: '一時的に利用できません', text: 'しばらくしてからもう一度お試しください。' },
  unreadableForm: {
    title: 'フォームを読み取れません',
    text: '前のページに戻り、パスワードをもう一度入力してください。',
  },
  siteSuspended: {
    title: 'このサイトは停止されています',
    text: 'このサービスの運営者が公開を停止しました。',
  },
  fileBlocked: {
    title: 'ファイルはブロックされています',
    text: 'このサービスの運営者がこのファイルをブロックしました。',
  },
  homePage: 'トップページへ',
  reportAbuse: '不正行為を報告',
  terms: '利用規約',
  imprint: '運営者情報',
  contactOperator: '運営者に連絡',
  anonymousNotice: {
    title: 'このサイトは確認されていません',
    text: '{service} でアカウントなしで公開されたサイトです。公開者が分からない場合は、パスワードや支払い情報を入力しないでください。',
    button: 'サイトに進む',
  },
  password: {
    title: 'このサイトはパスワードで保護されています',
    text: 'パスワードはサイトの所有者にお問い合わせください。',
    label: 'パスワード',
    button: 'サイトを開く',
    missing: 'パスワードを入力してください。',
    wrong: 'パスワードが正しくありません。もう一度お試しください。',
    tooManyAttempts: 'パスワードの誤りが多すぎます。{minutes}分後にもう一度お試しください。',
  },
  report: {
    title: 'ページを報告する',
    text: '報告はこのサービスの運営者に届きます。',
    url: 'ページのアドレス',
    reason: 'どのような問題ですか？',
    reasons: {
      phishing: 'パスワードや支払い情報をだまし取ろうとしている',
      malware: 'マルウェアを配布している',
      illegal: '違法な内容が含まれている',
      copyright: '自分の著作権を侵害している',
      other: 'その他',
    },
    details: '詳細',
    email: 'メールアドレス（運営者からの問い合わせを受けられる場合）',
    button: '報告を送信',
    invalid: '次の項目を確認してください:',
    refused: '報告を受け付けられませんでした。しばらくしてからもう一度お試しください。',
  },
  reportReceived: { title: '報告を受け付けました', text: 'ありがとうございます。運営者が確認します。' },
  files: { title: 'ファイル', count: '{count} 個のファイル、{size}', open: '開く', download: 'ダウンロード' },
}
