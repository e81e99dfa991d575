/** The page's only style sheet: system fonts, two schemes, paper. Its hash stands in the page's content policy. */
import { createHash } from "node:crypto";

export const STYLE = `
:root{color-scheme:light dark;
--page:#f6f6f4;--card:#fff;--ink:#1a1d21;--soft:#57606a;--line:#dcdfe3;--faint:#eef0f2;--code:#f3f4f5;--focus:#0b5cad;
--good:#116329;--good-bg:#e3f3e7;--bad:#a61b14;--bad-bg:#fbe9e7;--wait:#7d4a00;--wait-bg:#fdf0d8;--busy:#0b4f94;--busy-bg:#e4effb;
--c1:#2f6fb3;--c2:#7aa7d6;--c3:#b9cde2;--c4:#d08a1d;--c5:#9aa0a6;--c6:#6b5aa8;--c7:#3f8f5b}
@media (prefers-color-scheme:dark){:root{
--page:#0e1113;--card:#16191d;--ink:#e7eaed;--soft:#9ea7b1;--line:#2b3138;--faint:#20252a;--code:#1d2126;--focus:#8cc0ff;
--good:#7ad694;--good-bg:#12301c;--bad:#ff9b91;--bad-bg:#3b1815;--wait:#f2bd6b;--wait-bg:#35270d;--busy:#93c2ff;--busy-bg:#132a45;
--c1:#6aa5e6;--c2:#44719f;--c3:#2f4a66;--c4:#d9a04a;--c5:#6d747b;--c6:#9d8ddd;--c7:#5fb87e}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--page);color:var(--ink);font:400 1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
code,pre,kbd,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.875em}
a{color:inherit;text-decoration-color:var(--soft);text-underline-offset:.2em}
a:hover{text-decoration-thickness:2px}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-999rem}.skip:focus{left:1rem;top:1rem;z-index:2;background:var(--card);padding:.5rem 1rem}
.wrap{max-width:66rem;margin:0 auto;padding:0 1.25rem}
header{background:var(--card);border-bottom:1px solid var(--line)}
header .wrap{padding-top:1.75rem;padding-bottom:1.5rem}
.meta{display:flex;flex-wrap:wrap;gap:.3rem .9rem;align-items:center;margin:0;color:var(--soft);font-size:.875rem}
.pill{display:inline-flex;align-items:center;gap:.45em;border-radius:99px;padding:.18em .8em;font-weight:600;font-size:.875rem}
.pill::before{content:"";width:.55em;height:.55em;border-radius:50%;background:currentColor}
.t-good{color:var(--good);background:var(--good-bg)}.t-bad{color:var(--bad);background:var(--bad-bg)}
.t-wait{color:var(--wait);background:var(--wait-bg)}.t-busy{color:var(--busy);background:var(--busy-bg)}
h1{font-size:clamp(1.45rem,1.1rem + 1.6vw,2.05rem);line-height:1.2;letter-spacing:-.015em;font-weight:680;margin:.7rem 0 .6rem;text-wrap:balance}
.headline{font-size:1.075rem;max-width:48rem;margin:.2rem 0;text-wrap:pretty}
.goal{white-space:pre-wrap;max-width:48rem;margin:.4rem 0 .2rem;padding-left:.9rem;border-left:3px solid var(--line)}.whole{margin:0 0 .5rem}
.why{max-width:48rem;margin:.7rem 0 0;padding:.55rem .9rem;border-left:3px solid currentColor;border-radius:0 6px 6px 0}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;margin:0;padding:.8rem 0 .2rem;font-size:.875rem}
nav a{color:var(--soft);display:inline-block;padding:.15rem 0}
main{padding-bottom:3rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:.75rem;margin:1.25rem 0 0;padding:0}
.cards>div{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.8rem 1rem}
.cards dt{color:var(--soft);font-size:.8125rem}
.cards dd{margin:0}.cards dd.big{font-size:1.5rem;line-height:1.25;font-weight:650;letter-spacing:-.01em}
.cards .good{color:var(--good)}.cards .bad{color:var(--bad)}.cards .warn{color:var(--wait)}.cards dd.more{color:var(--soft);font-size:.8125rem}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;margin:1rem 0 0;padding:1.15rem 1.25rem 1.25rem}
h2{font-size:1.125rem;line-height:1.3;font-weight:650;letter-spacing:-.005em;margin:0 0 .75rem}
h3{font-size:.9375rem;font-weight:650;margin:1.4rem 0 .5rem}
section>p{margin:.5rem 0}.soft{color:var(--soft)}.small{font-size:.875rem}
.steps{list-style:none;margin:0;padding:0;display:grid;gap:.6rem}
.steps li{display:grid;grid-template-columns:minmax(10rem,16rem) 1fr;gap:.2rem 1rem;align-items:baseline}
.steps code{background:var(--code);border:1px solid var(--line);border-radius:6px;padding:.28rem .6rem;user-select:all;-webkit-user-select:all;white-space:pre-wrap}
.steps .in{color:var(--soft);font-size:.8125rem;font-family:inherit}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.875rem;overflow-wrap:break-word}
.facts,.wide{width:100%}
caption{text-align:left;color:var(--soft);font-size:.8125rem;padding:0 0 .4rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .9rem .4rem 0;border-top:1px solid var(--line)}
thead th{border-top:0;color:var(--soft);font-weight:500;font-size:.8125rem;white-space:nowrap}
tbody th{font-weight:500}
td.n,th.n{text-align:right;white-space:nowrap;padding-left:1.4rem;padding-right:.6rem}td.w,th.w{white-space:nowrap;overflow-wrap:normal}td .tag{white-space:nowrap}
.facts th{color:var(--soft);font-weight:400;width:13rem}
.tag{display:inline-block;border-radius:5px;padding:.02em .5em;font-size:.8125rem;font-weight:550;max-width:100%;background:var(--faint);color:var(--soft)}
.tag.good{color:var(--good);background:var(--good-bg)}.tag.bad{color:var(--bad);background:var(--bad-bg)}.tag.warn{color:var(--wait);background:var(--wait-bg)}
pre{white-space:pre-wrap;background:var(--code);border-radius:6px;padding:.65rem .8rem;margin:.45rem 0;line-height:1.45;max-height:26rem;overflow:auto;tab-size:4}
details>summary{cursor:pointer;border-radius:4px}
summary::marker{color:var(--soft)}
.plain>summary{color:var(--soft);font-size:.875rem;padding:.2rem 0}
.chapter{border-top:1px solid var(--line);padding:.15rem 0}
.chapter:first-of-type{border-top:0}
.chapter>summary{padding:.55rem 0}
.chapter>summary h3{display:inline;margin:0}
.chapter>summary .meta{margin:.1rem 0 0 1.1rem;font-size:.8125rem}
.chapter>.said{margin:.1rem 0 .6rem 1.1rem}
.rows{list-style:none;margin:0;padding:0;font-size:.9375rem}
.rows>li{display:grid;grid-template-columns:5.2rem minmax(0,1fr);gap:.1rem .8rem;padding:.55rem 0;border-top:1px solid var(--line)}
.rows>li:first-child{border-top:0}.rows p{margin:.25rem 0 0;font-size:.875rem}.rows time{color:var(--soft);font-size:.8125rem;padding-top:.15em}.rows p time{padding:0}
.log{list-style:none;margin:0 0 .8rem 1.1rem;padding:0;font-size:.875rem;border-left:2px solid var(--line)}
.log>li{padding:.16rem 0 .16rem .8rem}
.line{display:grid;grid-template-columns:4.6rem minmax(0,1fr) fit-content(14rem);gap:0 .7rem;align-items:baseline}
.log summary{list-style:none}.log summary::-webkit-details-marker{display:none}
.log summary .line>.what::after{content:" \\203A";color:var(--soft)}.log details[open]>summary .line>.what::after{content:" \\2304"}
.log time{color:var(--soft);font-size:.8125rem}
.what b{font-weight:600}.what code{color:inherit}
.more{margin:.1rem 0 .6rem 5.3rem}.more p{margin:.3rem 0}
.b-good>.line .what,.b-good>details>summary .what{color:var(--good)}
.b-bad>.line .what,.b-bad>details>summary .what{color:var(--bad)}
.b-warn>.line .what,.b-warn>details>summary .what{color:var(--wait)}
.side{display:flex;flex-wrap:wrap;gap:1.2rem 3.5rem;align-items:flex-start}.side>*{max-width:100%}
figure{margin:0 0 1.1rem}
figcaption{font-size:.875rem;color:var(--soft);margin:0 0 .35rem}
svg{display:block;width:100%}
.chart{height:9rem;border-bottom:1px solid var(--line)}.strip{height:1.6rem;border-radius:5px;overflow:hidden}
.tokens{height:5.5rem;border-bottom:1px solid var(--line)}
.axis{display:flex;justify-content:space-between;gap:1rem;font-size:.8125rem;color:var(--soft);padding-top:.25rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;margin:.5rem 0 0;padding:0;font-size:.8125rem;color:var(--soft)}
.legend svg{display:inline-block;width:.7rem;height:.7rem;margin-right:.4rem;vertical-align:-.05rem;border-radius:2px}
.legend b{color:var(--ink);font-weight:550}
.cost-line{fill:none;stroke:var(--c1);stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}.cost-area{fill:var(--c1);opacity:.14}
.k1{fill:var(--c1)}.k2{fill:var(--c2)}.k3{fill:var(--c3)}.k4{fill:var(--c4)}.k5{fill:var(--c5)}.k6{fill:var(--c6)}.k7{fill:var(--c7)}
.bar{width:7rem;height:.5rem;border-radius:3px;background:var(--faint);display:inline-block;vertical-align:middle}
.diff{width:4rem;height:.55rem;display:inline-block;vertical-align:middle;border-radius:2px;background:var(--faint)}
.plus{color:var(--good)}.minus{color:var(--bad)}.f-plus{fill:var(--good)}.f-minus{fill:var(--bad)}.f-bar{fill:var(--c1)}.f-over{fill:var(--c4)}
footer{color:var(--soft);font-size:.8125rem;padding:0 0 2.5rem}
@media (max-width:40rem){
.wrap{padding:0 .9rem}section{padding:1rem .9rem}
.steps li{grid-template-columns:1fr}.facts th{width:auto}
.facts tr,.facts th,.facts td{display:block;border:0;padding-bottom:0}.facts td{padding-top:0;padding-bottom:.3rem}
.rows>li{grid-template-columns:1fr}
.cards{grid-template-columns:1fr 1fr;gap:.5rem}.cards>div:last-child:nth-child(odd){grid-column:1/-1}.cards>div{padding:.6rem .8rem}.cards dd.big{font-size:1.25rem}
.line{grid-template-columns:1fr auto}.line>time{grid-column:1/-1}.more{margin-left:0}.log,.chapter>.said,.chapter>summary .meta{margin-left:.2rem}
}
@media print{
:root{--page:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--faint:#eee;--code:#f5f5f5}
nav,.skip{display:none}section,.cards>div{border-color:#ccc;break-inside:auto}h2,h3,summary{break-after:avoid}pre{max-height:none}
details::details-content{content-visibility:visible;block-size:auto;height:auto}
body{font-size:10.5pt}.wrap{max-width:none}
}
`;

/** For `style-src`. */
export const STYLE_HASH = `sha256-${createHash("sha256").update(STYLE).digest("base64")}`;
